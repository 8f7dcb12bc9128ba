#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "grader/sandbox/file_rules.hpp"
#include "grader/sandbox/isolation.hpp"
#include "grader/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

/// What a program may do beyond the minimum.
struct SandboxPolicy {
  std::vector<std::filesystem::path> readable{};  ///< may be read and executed
  std::filesystem::path secret{};                 ///< the course: nothing in it may be read
  bool may_fork = false;                          ///< a compiler works in several processes
  bool keeps_files = false;                       ///< its folder stays after it ends
  std::uint64_t cpu_seconds = std::uint64_t{4} * 3600;
  std::uint64_t file_bytes = std::uint64_t{64} << 20;
  std::uint64_t open_files = 1024;
  std::uint64_t data_bytes = 0;  ///< of one process; 0 for no limit of its own
};

/// Isolates a program that is about to start. Make this object before the fork, because nothing may
/// be allocated between fork and exec, where the other functions run.
///
///     grader ── clone: namespaces ──→ warden (process 1) ── fork ──→ program
///
/// The warden stays outside the filter, waits for the program and ends everything with itself.
class Sandbox {
 public:
  /// @param folder  the program's own: it works there and may write nowhere else
  Sandbox(const SandboxPolicy& policy, const std::filesystem::path& program, std::string folder);

  /// Like fork(), into as many namespaces as the kernel allows. Fails only if fork does.
  /// @return as fork
  pid_t start_warden();

  /// In the warden: completes its namespaces.
  void enter_warden();

  /// In the program's process: everything else. It cannot be undone.
  void enter_program();

  [[nodiscard]] const Isolation& isolation() const { return isolation_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  void enter_namespaces();

  SandboxPolicy policy_;
  std::string folder_;
  FileRules files_;
  SeccompFilter filter_;
  Isolation isolation_;
  bool has_own_shared_memory_ = false;
  std::string user_map_;
  std::string group_map_;
};

}  // namespace convlab::grader
