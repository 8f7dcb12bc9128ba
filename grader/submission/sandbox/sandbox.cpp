#include "grader/submission/sandbox/sandbox.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/base/address_sanitizer.hpp"
#include "common/serve/serve.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

constexpr int kCannotExecute = 127;
constexpr int kNoticeDescriptor = kServeDescriptor + 1;
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

// @return the hard limit
rlim_t raise_limit_of_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_max;
}

// Like fork(), on a copy of this stack, but it takes none of the C library's locks.
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

void tell(const Notice& notice) {
  while (::write(kNoticeDescriptor, &notice, sizeof notice) < 0 && errno == EINTR) {
  }
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Constructed before the fork; the other functions run between fork and exec and allocate nothing.
class Sandbox {
 public:
  explicit Sandbox(Launch launch)
      : launch_(std::move(launch)),
        enter_root_(own_root(launch_.policy, launch_.program, launch_.folder)),
        filter_(filter_for(launch_.policy.kind)) {
    // "namespaces,calls": mechanisms that the instructor disables, who has another protection. A
    // submission cannot do this: it does not share the grader's environment.
    const char* left_out = std::getenv("CONVLAB_ISOLATION_WITHOUT");
    for (const auto& [name, setting, error] : kParts) {
      if (left_out != nullptr && std::strstr(left_out, setting) != nullptr) {
        isolation_.*error = ECANCELED;
      }
    }
  }

  /// Like fork(), into namespaces if the kernel allows it. Fails only if fork does.
  pid_t start_warden() {
    if (isolation_.namespaces == 0) {
      const pid_t process = fork_into(kNamespaces);
      if (process >= 0) return process;
      isolation_.namespaces = errno;
    }
    return fork_into(0);
  }

  [[noreturn]] void run_warden() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Descriptors move out of the way of those that they become.
    constexpr int kAbove = kNoticeDescriptor + 1;
    raise_limit_of_files();
    auto [null, output, channel, notices] = launch_.descriptors;
    for (int* each : {&null, &output, &channel, &notices}) *each = ::fcntl(*each, F_DUPFD, kAbove);
    ::dup2(null, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::dup2(channel, kServeDescriptor);
    ::dup2(notices, kNoticeDescriptor);
    ::fcntl(kNoticeDescriptor, F_SETFD, FD_CLOEXEC);
    ::syscall(SYS_close_range, STDERR_FILENO + 1, kServeDescriptor - 1, 0);
    ::syscall(SYS_close_range, kAbove, ~0U, 0);
    // The grader may have died before the prctl: then nobody reads the notices.
    pollfd reader{kNoticeDescriptor, 0, 0};
    if (::poll(&reader, 1, 0) != 0) ::_exit(kCannotExecute);

    isolate_warden();
    // Another thread of the grader may have held a lock of the C library when the warden was
    // forked, and does not exist here to release it.
    const pid_t program = fork_into(0);
    if (program == 0) run_program();
    // Only the program holds its channel, so the channel shows its end.
    ::syscall(SYS_close_range, 0, kServeDescriptor, 0);
    if (program < 0) {
      tell({Notice::kNotExecuted, errno, {}});
      ::_exit(kCannotExecute);
    }
    int status = 0;
    while (::waitpid(-1, &status, 0) != program || (!WIFEXITED(status) && !WIFSIGNALED(status))) {
    }
    tell({Notice::kEnded, status, {}});
    ::_exit(0);  // also ends all other processes of its namespace
  }

 private:
  void isolate_warden() {
    ::setsid();
    ::prctl(PR_SET_DUMPABLE, 1);  // otherwise root would own what this writes in /proc/self
    // If memory is short, the system ends these processes first.
    write_file("/proc/self/oom_score_adj", "1000");
    if (isolation_.namespaces == 0) {
      isolation_.namespaces = settle_in(user_map_.c_str(), group_map_.c_str());
      if (isolation_.namespaces == 0) isolation_.namespaces = enter_root_();
    }
    ::prctl(PR_SET_DUMPABLE, 0);  // no process may trace it or read its memory
  }

  [[noreturn]] void run_program() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with the warden
    for (int signal : {SIGPIPE, SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
    int error = ::chdir(launch_.folder.c_str()) == 0 ? 0 : errno;
    set_limits();
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int kept = drop_capabilities();
    if (isolation_.system_calls == 0) {
      isolation_.system_calls = kept != 0 ? kept : install(filter_, program_descriptor_);
    }
    tell({Notice::kIsolated, 0, isolation_});
    if (isolation_.is_refused()) ::_exit(kCannotExecute);
    if (error == 0 && launch_.policy.kind != SandboxKind::kCpu) {
      ::execve(program_.c_str(), arguments_.data(), environment_.data());
      error = errno;
    } else if (error == 0) {
      error = ENOENT;
      if (program_descriptor_ >= 0) {
        ::syscall(SYS_execveat, program_descriptor_, "", arguments_.data(), environment_.data(),
                  AT_EMPTY_PATH);
        error = errno;
      }
    }
    tell({Notice::kNotExecuted, error, {}});
    ::_exit(kCannotExecute);
  }

  void set_limits() {
    const SandboxPolicy& policy = launch_.policy;
    // Its number lies above the limit: once exec has closed it, no other file can get it.
    const rlim_t open_files = std::min<rlim_t>(1024, raise_limit_of_files() - 1);
    if (policy.kind == SandboxKind::kCpu) {
      const int file = ::open(program_.c_str(), O_PATH | O_CLOEXEC);
      program_descriptor_ = ::fcntl(file, F_DUPFD_CLOEXEC, static_cast<int>(open_files));
      ::close(file);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, policy.file_bytes);
    limit(RLIMIT_NOFILE, open_files);
    limit(RLIMIT_CPU, policy.cpu_seconds);
    limit(RLIMIT_STACK, rlim_t{8} << 20);
    limit(RLIMIT_MSGQUEUE, 0);
#if !CONVLAB_ADDRESS_SANITIZER
    // Too large allocations end in std::bad_alloc. Not with a device: drivers, the emulation and
    // AddressSanitizer reserve terabytes that they never use.
    std::uint64_t data_bytes = policy.data_bytes;
    if (data_bytes == 0 && policy.kind == SandboxKind::kCpu) data_bytes = launch_.memory_bytes;
    if (data_bytes > 0) limit(RLIMIT_DATA, data_bytes);
#endif
    // Without a namespace this limit would count all processes of the user.
    constexpr rlim_t kProcesses = 1024;
    if (isolation_.namespaces == 0) limit(RLIMIT_NPROC, kProcesses);
  }

  Launch launch_;
  std::string program_ = launch_.program.string();
  std::vector<char*> arguments_ = pointers_to(launch_.arguments);
  std::vector<char*> environment_ = pointers_to(launch_.environment);
  std::function<int()> enter_root_;
  std::vector<sock_filter> filter_;
  Isolation isolation_;
  int program_descriptor_ = -1;
  std::string user_map_ = map_of(::geteuid());
  std::string group_map_ = map_of(::getegid());
};

}  // namespace

pid_t start_in_sandbox(Launch launch) {
  Sandbox sandbox(std::move(launch));
  const pid_t warden = sandbox.start_warden();
  if (warden == 0) sandbox.run_warden();
  return warden;
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
