#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace convlab::grader {

/// The mechanisms that isolate a submission: each an errno, 0 if the kernel granted it, ECANCELED
/// if CONVLAB_ISOLATION_WITHOUT has left it out. A plain struct, because it travels through a pipe.
struct Isolation {
  int namespaces = 0;  ///< users, processes, network and mounts of its own, with a root of its own
  int system_calls = 0;  ///< seccomp, and no capabilities

  [[nodiscard]] bool is_refused() const {
    return (namespaces != 0 && namespaces != ECANCELED) ||
           (system_calls != 0 && system_calls != ECANCELED);
  }
};

/// "isolation: namespaces, system calls, no capabilities, limits" and what was left out.
std::string describe(const Isolation& isolation);

/// What the kernel refuses, why, and what helps; empty if nothing. Then no submission is started.
std::string refused_part(const Isolation& isolation);

/// By starting a process that does nothing. @throws EnvironmentError with refused_part()
Isolation probe_isolation();

/// The kind of a program; each kind gets only what it needs.
enum class SandboxKind {
  kCpu,       ///< a convolution on the CPU: threads, no other process or program
  kEmulated,  ///< kernels without a GPU: starts addr2line, which names the line of a stray access
  kGpu,       ///< kernels on a GPU: its driver opens devices, local sockets and shared memory
  kCompiler,  ///< starts other programs and leaves files
};

/// What a program may do in addition to the basic rights of all programs.
struct SandboxPolicy {
  SandboxKind kind = SandboxKind::kCpu;
  std::vector<std::filesystem::path> readable{};  ///< may be read and executed
  std::filesystem::path secret{};                 ///< the course: nothing in it may be read
  std::uint64_t cpu_seconds = std::uint64_t{4} * 3600;
  std::uint64_t file_bytes = std::uint64_t{64} << 20;
  std::uint64_t data_bytes = 0;  ///< of one process; 0: what the machine has, on the CPU
};

/// Prepares a root for a program: the files that it may read, its folder, a /proc of its own, a
/// /dev without terminals, an empty /tmp and /dev/shm. The function that it returns enters it and
/// allocates nothing. Needs a mount namespace; mount_setattr needs Linux 5.12.
/// @param folder  of a compiler the one on the disk; otherwise a small disk in memory
/// @return gives 0 or an errno
std::function<int()> own_root(const SandboxPolicy& policy, const std::filesystem::path& program,
                              const std::string& folder);

/// The system calls that a program may make. On the CPU only those of a list: memory, threads,
/// files, clocks, its channel. A program for a device and a compiler may make all except those that
/// neither needs, because drivers and tools differ from machine to machine. No program may trace or
/// signal others, open network connections, mount, or leave its session. A call that no honest
/// program makes ends in SIGSYS, others only fail.
std::vector<sock_filter> filter_for(SandboxKind kind);

/// Installs it in the calling process for ever. Allocates nothing: it runs between fork and exec.
/// @param program_descriptor  the only one that SandboxKind::kCpu may execute, with execveat
/// @return 0 or an errno
int install(std::vector<sock_filter>& filter, int program_descriptor);

/// "ptrace", for a call that ends in SIGSYS; its number otherwise.
std::string system_call_name(int number);

/// From warden and program to the grader, before the program's code runs and after it has ended.
struct Notice {
  enum Kind { kIsolated, kNotExecuted, kEnded };
  Kind kind = kIsolated;
  int code = 0;  ///< errno, or as waitpid tells it
  Isolation isolation{};
};

/// What is to be started.
struct Launch {
  SandboxPolicy policy{};
  std::filesystem::path program{};
  std::vector<std::string> arguments{};  ///< the program's name is the first
  std::vector<std::string> environment{};
  std::string folder{};              ///< to work in, the only place where it may write
  std::uint64_t memory_bytes = 0;    ///< its memory limit
  std::array<int, 4> descriptors{};  ///< no input, output, channel, notices
};

/// Starts a program, isolated:
///
///     grader ── clone: namespaces ──→ warden (process 1) ── fork ──→ program
///
/// The warden stays outside the filter, in a session of its own, and waits for the program; when it
/// ends, all processes end.
/// @return the warden's number; negative if there can be no process
pid_t start_in_sandbox(Launch launch);

}  // namespace convlab::grader
