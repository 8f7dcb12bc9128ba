#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "grader/submission/sandbox/sandbox_policy.hpp"

namespace convlab::grader {

/// The system calls that a program may make. On the CPU only those of a list: memory, threads,
/// files, clocks, its channel. A program for a device and a compiler may make all except those that
/// neither needs, because drivers and tools differ from machine to machine. No program may trace or
/// signal others, open network connections, mount, or leave its session. A call that no honest
/// program makes ends in SIGSYS, others only fail.
class SeccompFilter {
 public:
  explicit SeccompFilter(SandboxKind kind);

  /// Installs the filter in the calling process, permanently and also after exec. Allocates
  /// nothing, so it may run between fork and exec.
  /// @param program_descriptor  the only one that SandboxKind::kCpu may execute, with execveat
  /// @return 0 or an errno
  [[nodiscard]] int install(int program_descriptor);

 private:
  /// A condition on the lower half of a call's argument, or on whether the upper one holds a bit.
  struct Condition {
    enum class Test { kEqual, kAnyBit, kNoBit, kOwnPid, kProgram, kUpperHalf };
    unsigned argument;
    Test test;
    unsigned value = 0;
    unsigned mask = ~0U;  ///< of kEqual
  };

  /// The first rule whose call and conditions match says what happens.
  void rule(unsigned call, unsigned action, std::initializer_list<Condition> conditions = {});
  void restrict_processes(SandboxKind kind);
  void restrict_signals(SandboxKind kind);
  void restrict_sockets(SandboxKind kind);
  void restrict_channel();
  void restrict_code();
  void restrict_offsets();
  void restrict_memory(SandboxKind kind);

  std::vector<sock_filter> program_;
};

/// "ptrace", for a call that ends in SIGSYS; its number otherwise.
std::string system_call_name(int number);

}  // namespace convlab::grader
