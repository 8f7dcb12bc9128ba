#pragma once

#include <string>
#include <vector>

#include "grader/submission/sandbox/file_rules.hpp"

namespace convlab::grader {

/// A separate file system for a program. It contains only the files of its file rules, its folder,
/// /proc, a /dev without terminals, and an empty /tmp and /dev/shm. Needs a mount namespace;
/// mount_setattr needs Linux 5.12.
class OwnRoot {
 public:
  /// Prepares everything, because enter() may not allocate.
  /// @param keeps_files  the folder is the one on the disk; otherwise a small disk in memory
  OwnRoot(const std::vector<FileRule>& rules, std::string folder, bool keeps_files);

  /// Makes it the root of the calling process.
  /// @param own_proc  mounts a /proc of its own, otherwise shows the machine's
  /// @return 0 or an errno; then nothing has changed
  [[nodiscard]] int enter(bool own_proc) const;

 private:
  struct Entry {
    enum class Kind { kFolder, kFile, kLink };
    Kind kind;
    std::string source;
    std::string target;  ///< below kPlace; of a link: the link
  };
  void add_folders_above(const std::string& path);
  void add(const std::string& path);
  [[nodiscard]] bool shows(const std::string& path) const;
  [[nodiscard]] int build(bool own_proc) const;

  std::vector<std::string> folders_;
  std::vector<Entry> entries_;
  std::string folder_;
  std::string folder_target_;
  bool keeps_files_;
};

}  // namespace convlab::grader
