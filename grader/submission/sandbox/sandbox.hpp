#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
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

/// Asks the kernel, by starting a process that does nothing.
/// @throws EnvironmentError with refused_part()
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
  std::uint64_t open_files = 1024;
  std::uint64_t data_bytes = 0;  ///< of one process; 0: what the machine has, on the CPU
};

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
  struct Step {
    enum Kind { kMakeFolder, kShowFolder, kShowFile, kLink };
    Kind kind;
    std::string source;
    std::string target;  ///< below kPlace; of a link: the link
  };
  void add_folders_above(const std::string& path);
  void add(const std::string& path);
  static int take(const Step& step);
  [[nodiscard]] int build() const;

  std::vector<Step> steps_;
  std::string folder_;
  std::string folder_target_;
  SandboxKind kind_;
};

/// The system calls that a program may make. On the CPU only those of a list: memory, threads,
/// files, clocks, its channel. A program for a device and a compiler may make all except those that
/// neither needs, because drivers and tools differ from machine to machine. No program may trace or
/// signal others, open network connections, mount, or leave its session. A call that no honest
/// program makes ends in SIGSYS, others only fail.
std::vector<sock_filter> filter_for(SandboxKind kind);

/// Installs it in the calling process, permanently and also after exec. Allocates nothing, so it
/// may run between fork and exec.
/// @param program_descriptor  the only one that SandboxKind::kCpu may execute, with execveat
/// @return 0 or an errno
int install(std::vector<sock_filter>& filter, int program_descriptor);

/// "ptrace", for a call that ends in SIGSYS; its number otherwise.
std::string system_call_name(int number);

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
  std::vector<sock_filter> filter_;
  Isolation isolation_;
  int program_descriptor_ = -1;
  [[maybe_unused]] std::uint64_t memory_bytes_;  // with AddressSanitizer there is no such limit
  std::string user_map_;
  std::string group_map_;
};

}  // namespace convlab::grader
