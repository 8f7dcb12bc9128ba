#pragma once

#include <filesystem>

#include "common/base/descriptor.hpp"

namespace convlab::grader {

/// A fresh temporary folder, removed at the end. Its process holds a lock on it, which tells a
/// folder in use from the leftovers of a killed grader. This also works for graders in other
/// containers, where process numbers would not help. The first such folder of a process removes
/// leftovers.
class ScratchFolder {
 public:
  /// @throws EnvironmentError if none can be made
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

/// Removes the unlocked folders in `parent` with this prefix.
void remove_leftovers(const std::filesystem::path& parent, const char* beginning);

}  // namespace convlab::grader
