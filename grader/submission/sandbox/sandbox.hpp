#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "grader/submission/sandbox/isolation.hpp"
#include "grader/submission/sandbox/own_root.hpp"
#include "grader/submission/sandbox/sandbox_policy.hpp"
#include "grader/submission/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

/// Isolates a program that is about to start. Constructed before the fork, because nothing may be
/// allocated between fork and exec; the other functions run there.
///
///     grader ── clone: namespaces ──→ warden (process 1) ── fork ──→ program
///
/// The warden stays outside the filter and waits for the program; when it ends, all processes end.
class Sandbox {
 public:
  /// @param folder        the program's working folder, the only place where it may write
  /// @param memory_bytes  its memory limit
  Sandbox(const SandboxPolicy& policy, const std::filesystem::path& program, std::string folder,
          std::int64_t memory_bytes);

  /// Like fork(), into namespaces if the kernel allows it. Fails only if fork does.
  /// @return as fork
  pid_t start_warden();

  /// In the warden: completes its namespaces, leaves the grader's session and terminal.
  void enter_warden();

  /// In the warden: like fork(), but takes none of the C library's locks. Another thread of the
  /// grader may have held one when the warden was forked, and does not exist here to release it.
  static pid_t start_program();

  /// In the program's process: applies all other mechanisms. It cannot be undone.
  void enter_program();

  /// Becomes the program. @return errno, if it cannot
  [[nodiscard]] int execute(const char* program, char* const* arguments,
                            char* const* environment) const;

  [[nodiscard]] const Isolation& isolation() const { return isolation_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  void set_limits();

  SandboxPolicy policy_;
  std::string program_;
  std::string folder_;
  OwnRoot root_;
  SeccompFilter filter_;
  Isolation isolation_;
  int program_descriptor_ = -1;
  [[maybe_unused]] std::uint64_t memory_bytes_;  // with AddressSanitizer there is no such limit
  std::string user_map_;
  std::string group_map_;
};

}  // namespace convlab::grader
