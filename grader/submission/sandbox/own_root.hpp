#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/submission/sandbox/sandbox_policy.hpp"

namespace convlab::grader {

/// A separate file system for a program. It contains only its visible files, its folder, a /proc of
/// its own, a /dev without terminals, and an empty /tmp and /dev/shm. Needs a mount namespace;
/// mount_setattr needs Linux 5.12.
class OwnRoot {
 public:
  /// Prepares everything, because enter() may not allocate.
  /// @param folder  of a compiler the one on the disk; otherwise a small disk in memory
  OwnRoot(const SandboxPolicy& policy, const std::filesystem::path& program, std::string folder);

  /// Makes it the root of the calling process.
  /// @return 0 or an errno
  [[nodiscard]] int enter() const;

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
  [[nodiscard]] int build() const;

  std::vector<std::string> folders_;
  std::vector<Entry> entries_;
  std::string folder_;
  std::string folder_target_;
  SandboxKind kind_;
};

}  // namespace convlab::grader
