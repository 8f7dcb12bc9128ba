#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "grader/sandbox/sandbox_policy.hpp"

namespace convlab::grader {

/// A file or folder that a program may reach, and the Landlock rights on it and all below.
struct FileRule {
  std::string path;
  std::uint64_t access;
};

/// Which files a program may reach: those of a list, and nothing else. It reads what a run time
/// needs (libraries, what the machine is), a compiler also its tools; it uses devices that are none
/// and those of a GPU; it writes into its own folders. So homes, temporary folders, the course,
/// passwords and terminals stay closed without being named. OwnRoot shows no other file; Landlock
/// (Linux 5.13) allows no other, also where there are no namespaces.
///
/// Where libraries or compilers lie elsewhere, for example on a cluster,
/// CONVLAB_ISOLATION_READABLE=/apps/gcc:/apps/cuda names them.
class FileRules {
 public:
  /// @param program  may be executed, as may its emulated sibling
  /// @param folder   where it may write and remove
  FileRules(const SandboxPolicy& policy, const std::filesystem::path& program, std::string folder);

  /// What exists of the list; the program's own folders and /proc/self are not in it.
  [[nodiscard]] const std::vector<FileRule>& rules() const { return rules_; }

  /// Binds the calling process, for good and through exec. Allocates nothing, so it may run between
  /// fork and exec.
  /// @param has_own_temporary  /tmp and /dev/shm belong to this program alone
  /// @return 0 or an errno
  [[nodiscard]] int apply(bool has_own_temporary) const;

 private:
  void add(const std::filesystem::path& path, std::uint64_t access);
  void add_but(const std::filesystem::path& path, std::uint64_t access,
               const std::filesystem::path& secret);
  void add_system(const SandboxPolicy& policy);
  void add_machine(Box box);
  void add_devices(Box box);
  void add_listed(const char* variable, std::uint64_t access);

  Box box_;
  std::string folder_;
  std::vector<FileRule> rules_;
};

}  // namespace convlab::grader
