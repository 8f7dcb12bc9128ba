#include "grader/submission/sandbox/sandbox.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/base/address_sanitizer.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

constexpr unsigned long kNamespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUTS;

std::string map_of(unsigned id) {
  return std::to_string(id) + " " + std::to_string(id) + " 1";
}

int write_file(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const int error = ::write(file, text, static_cast<std::size_t>(size)) == size ? 0 : errno;
  ::close(file);
  return error;
}

void limit(int resource, rlim_t value) {
  rlimit limits{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limits) != 0) return;
  if (limits.rlim_max != RLIM_INFINITY && limits.rlim_max < value) value = limits.rlim_max;
  limits = {value, value};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
}

// Like fork(): without a given stack the new process continues on a copy of this one. Unlike fork()
// it takes none of the C library's locks.
pid_t fork_into(unsigned long namespaces) {
  return static_cast<pid_t>(
      ::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// Completes a new user namespace: its user and group, and mounts that stay inside.
int settle_in(const char* user_map, const char* group_map) {
  write_file("/proc/self/setgroups", "deny");
  const int error = write_file("/proc/self/uid_map", user_map);
  write_file("/proc/self/gid_map", group_map);
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return error;
}

// Without capabilities root is an ordinary user.
int drop_capabilities() {
  ::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED);
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;) {
    ++capability;
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

/// What the kernel grants: its name, what leaves it out, and its errno.
constexpr std::tuple<const char*, const char*, int Isolation::*> kParts[] = {
    {"namespaces", "namespaces", &Isolation::namespaces},
    {"system calls", "calls", &Isolation::system_calls}};

}  // namespace

Sandbox::Sandbox(const SandboxPolicy& policy, const std::filesystem::path& program,
                 std::string folder, std::int64_t memory_bytes)
    : policy_(policy),
      program_(program.string()),
      folder_(std::move(folder)),
      root_(policy, program, folder_),
      filter_(filter_for(policy.kind)),
      memory_bytes_(static_cast<std::uint64_t>(memory_bytes)),
      user_map_(map_of(::geteuid())),
      group_map_(map_of(::getegid())) {
  // "namespaces,calls": mechanisms that the instructor disables, who has another protection. A
  // submission cannot do this: it does not share the grader's environment.
  const char* left_out = std::getenv("CONVLAB_ISOLATION_WITHOUT");
  for (const auto& [name, setting, error] : kParts) {
    if (left_out != nullptr && std::strstr(left_out, setting) != nullptr) {
      isolation_.*error = ECANCELED;
    }
  }
}

pid_t Sandbox::start_warden() {
  if (isolation_.namespaces == 0) {
    const pid_t process = fork_into(kNamespaces);
    if (process >= 0) return process;
    isolation_.namespaces = errno;
  }
  return fork_into(0);
}

void Sandbox::enter_warden() {
  ::setsid();
  ::prctl(PR_SET_DUMPABLE, 1);  // otherwise root would own what this writes in /proc/self
  // If memory is short, the system ends these processes first.
  write_file("/proc/self/oom_score_adj", "1000");
  if (isolation_.namespaces == 0) {
    isolation_.namespaces = settle_in(user_map_.c_str(), group_map_.c_str());
    if (isolation_.namespaces == 0) isolation_.namespaces = root_.enter();
  }
  ::prctl(PR_SET_DUMPABLE, 0);  // no process may trace it or read its memory
}

void Sandbox::set_limits() {
  constexpr rlim_t kStack = rlim_t{8} << 20;
  constexpr rlim_t kProcesses = 1024;
  // Opened before the limit, with a number above it: once exec has closed it, no other file can get
  // this number.
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t open_files = std::min<rlim_t>(policy_.open_files, files.rlim_max - 1);
  if (policy_.kind == SandboxKind::kCpu) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    const int file = ::open(program_.c_str(), O_PATH | O_CLOEXEC);
    program_descriptor_ = ::fcntl(file, F_DUPFD_CLOEXEC, static_cast<int>(open_files));
    ::close(file);
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, policy_.file_bytes);
  limit(RLIMIT_NOFILE, open_files);
  limit(RLIMIT_CPU, policy_.cpu_seconds);
  limit(RLIMIT_STACK, kStack);
  limit(RLIMIT_MSGQUEUE, 0);
#if !CONVLAB_ADDRESS_SANITIZER
  // Too large allocations end in std::bad_alloc. Not with a device: drivers, the emulation and
  // AddressSanitizer reserve terabytes that they never use.
  std::uint64_t data_bytes = policy_.data_bytes;
  if (data_bytes == 0 && policy_.kind == SandboxKind::kCpu) data_bytes = memory_bytes_;
  if (data_bytes > 0) limit(RLIMIT_DATA, data_bytes);
#endif
  // Without a namespace this limit would count all processes of the user.
  if (isolation_.namespaces == 0) limit(RLIMIT_NPROC, kProcesses);
}

pid_t Sandbox::start_program() {
  return fork_into(0);
}

void Sandbox::enter_program() {
  set_limits();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int kept = drop_capabilities();
  if (isolation_.system_calls != 0) return;
  isolation_.system_calls = kept != 0 ? kept : install(filter_, program_descriptor_);
}

int Sandbox::execute(const char* program, char* const* arguments, char* const* environment) const {
  if (policy_.kind == SandboxKind::kCpu && program_descriptor_ < 0) return ENOENT;
  if (policy_.kind == SandboxKind::kCpu) {
    ::syscall(SYS_execveat, program_descriptor_, "", arguments, environment, AT_EMPTY_PATH);
  } else {
    ::execve(program, arguments, environment);
  }
  return errno;
}

std::string describe(const Isolation& isolation) {
  std::string granted = "isolation: ";
  std::string left_out;
  for (const auto& [name, setting, error] : kParts) {
    if (isolation.*error == 0) {
      granted += std::string(name) + ", ";
    } else {
      left_out += (left_out.empty() ? "; left out: " : ", ") + std::string(name);
    }
  }
  return granted + "no capabilities, limits" + left_out;
}

std::string refused_part(const Isolation& isolation) {
  for (const auto& [name, setting, error] : kParts) {
    if (isolation.*error == 0 || isolation.*error == ECANCELED) continue;
    return "This machine does not isolate programs (" + std::string(name) + ": " +
           std::strerror(isolation.*error) +
           "), so nothing was started: allow it (docs/setup.md#isolation), or set "
           "CONVLAB_ISOLATION_WITHOUT=" +
           setting + " for files that you trust.";
  }
  return {};
}

Isolation probe_isolation() {
  ChildProcess process("/bin/true", {}, {});
  process.wait(std::chrono::seconds(10));
  return process.isolation();
}

}  // namespace convlab::grader
