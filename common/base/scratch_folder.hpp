#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "common/base/error.hpp"

namespace convlab {

/// An empty folder in the system's folder for temporary files, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code failed;
    std::string name = (std::filesystem::temp_directory_path(failed) / "convlab-XXXXXX").string();
    if (failed || ::mkdtemp(name.data()) == nullptr) {
      throw EnvironmentError("Cannot make the temporary folder " + name + ": " +
                             (failed ? failed.message() : std::strerror(errno)) +
                             "; free some space there, or set TMPDIR to another folder.");
    }
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace convlab
