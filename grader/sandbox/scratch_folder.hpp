#pragma once

#include <filesystem>

#include "common/process/descriptor.hpp"

namespace convlab::grader {

/// A fresh folder among the temporary ones, removed at the end. As long as its process lives it
/// holds a lock on the folder, so that what graders left behind that were killed can be told from
/// what is in use, also by graders in other containers, whose process numbers mean nothing here.
/// The first one of a process removes such leftovers.
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

/// Removes the folders in `parent` whose names begin so and that nobody holds.
void remove_leftovers(const std::filesystem::path& parent, const char* beginning);

}  // namespace convlab::grader
