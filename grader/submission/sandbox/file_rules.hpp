#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "grader/submission/sandbox/sandbox_policy.hpp"

namespace convlab::grader {

/// A file or folder that a program may reach, and the Landlock rights on it and all below.
struct FileRule {
  std::string path;
  std::uint64_t access;
};

/// The files that a program may access: only those of a list. It reads what a run time needs
/// (libraries, the machine's description), a compiler also its tools. It uses null devices and
/// those of a GPU, and writes into its own folders. So home folders, temporary folders, the course,
/// passwords and terminals are closed without being named. OwnRoot shows no other file; Landlock
/// (Linux 5.13) allows no other, even without namespaces.
///
/// If libraries or compilers lie elsewhere, for example on a cluster,
/// CONVLAB_ISOLATION_READABLE=/apps/gcc:/apps/cuda names them.
class FileRules {
 public:
  /// @param program  may be executed, as may its emulated sibling
  /// @param folder   where it may write and remove
  FileRules(const SandboxPolicy& policy, const std::filesystem::path& program, std::string folder);

  /// The existing entries of the list, without the program's own folders and /proc/self.
  [[nodiscard]] const std::vector<FileRule>& rules() const { return rules_; }

  /// Restricts the calling process permanently, also after exec. Allocates nothing, so it may run
  /// between fork and exec.
  /// @param has_own_temporary  /tmp and /dev/shm belong to this program alone
  /// @return 0 or an errno
  [[nodiscard]] int apply(bool has_own_temporary) const;

 private:
  void add(const std::filesystem::path& path, std::uint64_t access);
  void add_but_secrets(const std::filesystem::path& path, std::uint64_t access);
  void add_system(bool compiles);
  void add_machine(Box box);
  void add_devices(Box box);
  void add_listed(const char* variable, std::uint64_t access);

  Box box_;
  std::string folder_;
  std::vector<std::filesystem::path> secrets_;  ///< the course, and the data set
  std::vector<FileRule> rules_;
};

}  // namespace convlab::grader
