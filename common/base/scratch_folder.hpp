#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "common/base/error.hpp"

namespace convlab {

/// An empty folder, removed at the end.
class ScratchFolder {
 public:
  /// @param parent  empty: the system's folder for temporary files. A file can be renamed only
  ///                within its file system
  explicit ScratchFolder(const std::filesystem::path& parent = {}) {
    std::error_code failed;
    const auto place = parent.empty() ? std::filesystem::temp_directory_path(failed) : parent;
    std::string name = (place / "convlab-XXXXXX").string();
    if (failed || ::mkdtemp(name.data()) == nullptr) {
      throw EnvironmentError("Cannot make the temporary folder " + name + ": " +
                             (failed ? failed.message() : std::strerror(errno)) +
                             "; free some space there, check its permissions, or set TMPDIR to "
                             "another folder.");
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
