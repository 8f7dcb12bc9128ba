#pragma once

#include <filesystem>

namespace convlab::grader {

/// An empty folder in the system's folder for temporary files, removed at the end.
class ScratchFolder {
 public:
  /// @throws EnvironmentError if it cannot be made
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace convlab::grader
