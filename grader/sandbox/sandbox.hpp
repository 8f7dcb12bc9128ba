#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "grader/sandbox/file_rules.hpp"
#include "grader/sandbox/isolation.hpp"
#include "grader/sandbox/own_root.hpp"
#include "grader/sandbox/sandbox_policy.hpp"
#include "grader/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

/// Isolates a program that is about to be started. Made before the fork, because between fork and
/// exec nothing may be allocated; the other functions run there.
///
///     grader ── clone: namespaces ──→ warden (process 1) ── fork ──→ program
///
/// The warden stays outside the filter, waits for the program and ends everything with itself.
class Sandbox {
 public:
  /// @param folder        the program's own: it works there and may write nowhere else
  /// @param memory_bytes  what it may take
  Sandbox(const SandboxPolicy& policy, const std::filesystem::path& program, std::string folder,
          std::int64_t memory_bytes);

  /// Like fork(), into as many namespaces as the kernel allows. Fails only if fork does.
  /// @return as fork
  pid_t start_warden();

  /// In the warden: completes its namespaces, leaves the grader's session and terminal.
  void enter_warden();

  /// In the warden: like fork(), but takes none of the C library's locks. Another thread of the
  /// grader may have held one when the warden was made, and is not there to release it.
  static pid_t start_program();

  /// In the program's process: everything else. It cannot be undone.
  void enter_program();

  /// Becomes the program. @return errno, if it cannot
  [[nodiscard]] int execute(const char* program, char* const* arguments,
                            char* const* environment) const;

  [[nodiscard]] const Isolation& isolation() const { return isolation_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  void enter_namespaces();
  void set_limits();

  SandboxPolicy policy_;
  std::string program_;
  std::string folder_;
  FileRules files_;
  std::optional<OwnRoot> root_;
  SeccompFilter filter_;
  Isolation isolation_;
  bool has_own_temporary_ = false;
  int program_descriptor_ = -1;
  [[maybe_unused]] std::uint64_t memory_bytes_;  // with AddressSanitizer there is no such limit
  std::string user_map_;
  std::string group_map_;
};

}  // namespace convlab::grader
