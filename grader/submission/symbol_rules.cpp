#include "grader/submission/symbol_rules.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

#include "common/text/printable.hpp"

namespace convlab::grader {

namespace {

using namespace std::string_view_literals;

// What the box of a submission refuses (seccomp_filter.cpp), so that its author reads a name
// instead of the number of a system call; and what reaches around these rules: functions looked up
// by name, the layout of the program, its environment. Everything else may be used: what a function
// does, the box judges. So the C and C++ libraries work as a whole, whatever calls stand behind
// them.
constexpr std::string_view kRefused[] = {
    // Processes and programs.
    "fork", "_Fork", "vfork", "clone", "__clone", "execl", "execle", "execlp", "execv", "execve",
    "execvp", "execvpe", "execveat", "fexecve", "posix_spawn", "posix_spawnp", "system", "popen",
    "pclose", "daemon", "wordexp", "wait", "waitpid", "wait3", "wait4", "waitid",
    // Others: signals, memory, priority, limits.
    "kill", "killpg", "tgkill", "sigqueue", "pidfd_send_signal", "pidfd_open", "ptrace",
    "process_vm_readv", "process_vm_writev", "setpriority", "sched_setscheduler", "setrlimit",
    "prlimit", "prctl", "setsid", "setpgid", "setpgrp",
    // Connections and terminals.
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "getaddrinfo",
    "gethostbyname", "sendto", "sendmsg", "recvmsg", "recvfrom", "openpty", "forkpty", "login_tty",
    "posix_openpt", "getpt", "grantpt", "unlockpt", "tcsetattr", "tcsetpgrp", "ioctl",
    // Memory without a limit.
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "msgget", "semget", "mq_open",
    // The machine.
    "mount", "umount", "umount2", "chroot", "pivot_root", "unshare", "setns", "reboot",
    "sethostname", "settimeofday", "clock_settime", "adjtime", "adjtimex", "bpf", "perf_event_open",
    "keyctl", "userfaultfd", "sigaction", "signal",
    // Around these rules.
    "dlopen", "dlmopen", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr",
    "environ", "__environ", "_environ", "setenv", "putenv", "unsetenv", "clearenv", "main",
    "_start", "_DYNAMIC", "_r_debug", "__executable_start", "__ehdr_start", "_init", "_fini",
    "etext", "_etext", "edata", "_edata", "end", "_end", "__bss_start", "__libc_start_main",
    "__libc_stack_end"};

// Beside the list above, so that nothing of the same name under an older version is missed.
constexpr std::string_view kRefusedBeginnings[] = {"__libc_dlsym", "__libc_dlopen", "_dl_",
                                                   "io_uring_"};

constexpr std::string_view kLibraries[] = {
    "cublas",    "cudnn", "cufft",    "cusparse", "cutensor", "nvrtc",   "cusolver",
    "nvJitLink", "dnnl_", "_ZN4dnnl", "cblas_",   "sgemm",    "openblas"};

// Functions that a file might define to change what the grader's part of the program does.
constexpr std::string_view kOthers[] = {"main",
                                        "malloc",
                                        "calloc",
                                        "realloc",
                                        "free",
                                        "memcpy",
                                        "memmove",
                                        "memset",
                                        "memcmp",
                                        "strlen",
                                        "clock",
                                        "clock_gettime",
                                        "gettimeofday",
                                        "time",
                                        "times",
                                        "nanosleep",
                                        "clock_nanosleep",
                                        "read",
                                        "write",
                                        "send",
                                        "sendmsg",
                                        "recv",
                                        "recvmsg",
                                        "poll",
                                        "mmap",
                                        "munmap",
                                        "mprotect",
                                        "exit",
                                        "_exit",
                                        "_Exit",
                                        "abort",
                                        "atexit",
                                        "signal",
                                        "sigaction",
                                        "raise",
                                        "kill",
                                        "getpid",
                                        "getenv",
                                        "setenv",
                                        "setrlimit",
                                        "open",
                                        "close",
                                        "ioctl",
                                        "dlopen",
                                        "dlsym",
                                        "printf",
                                        "puts",
                                        "fwrite",
                                        "fflush",
                                        "sysconf",
                                        "getrusage"};
constexpr std::string_view kOthersBeginnings[] = {"pthread_", "omp_",   "GOMP_",       "__cxa_",
                                                  "_Unwind_", "__cuda", "_ZNSt6chrono"};

// The workbook's part of the channel to the grader, which a file may neither call nor replace.
constexpr std::string_view kInternal[] = {
    "_ZN7convlab9run_stage",       "_ZN7convlab10run_phases",   "_ZN7convlab10find_stage",
    "_ZN7convlab12run_in_steps",   "_ZN7convlab5serve",         "_ZN7convlab17registered_stages",
    "_ZN7convlab6encode",          "_ZN7convlab12send_message", "_ZN7convlab15receive_message",
    "_ZN7convlab14decode_request", "_ZN7convlab12decode_reply", "_ZN7convlab14milestone_main",
    "_ZN7convlab12MappedSegment"};

template <class Words>
bool contains(const Words& words, std::string_view name) {
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

template <class Words>
bool begins_with_one(const Words& words, std::string_view name) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view each) { return name.substr(0, each.size()) == each; });
}

// "_Z21cudaDeviceSynchronizev" and "cudaDeviceSynchronize": the API, emulated or not.
std::string_view without_mangling(std::string_view name) {
  if (name.substr(0, 2) != "_Z"sv) return name;
  std::size_t begin = 2;
  std::size_t length = 0;
  for (; begin < name.size() && std::isdigit(static_cast<unsigned char>(name[begin])) != 0;
       ++begin) {
    length = length * 10 + static_cast<std::size_t>(name[begin] - '0');
  }
  return length == 0 ? name : name.substr(begin, length);
}

bool is_cuda_function(std::string_view name) {
  constexpr std::string_view kFunctions[] = {"cudaEventElapsedTime",
                                             "cudaEventRecord",
                                             "cudaEventSynchronize",
                                             "cudaEventCreate",
                                             "cudaDeviceSynchronize",
                                             "cudaStreamSynchronize",
                                             "cudaGetLastError",
                                             "cudaPeekAtLastError",
                                             "cudaLaunchKernel",
                                             "cudaMalloc",
                                             "cudaFree",
                                             "cudaMemcpy",
                                             "cudaMemcpyAsync",
                                             "cudaGetErrorString",
                                             "cudaMemset"};
  return contains(kFunctions, without_mangling(name));
}

bool is_refused(std::string_view name) {
  return begins_with_one(kInternal, name) || contains(kRefused, name) ||
         begins_with_one(kRefusedBeginnings, name);
}

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return printable_line(status == 0 ? text.get() : name);
}

}  // namespace

std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols,
                                                 const std::vector<std::string>& allowed) {
  using SymbolKind = SymbolProblem::Kind;
  std::istringstream lines(symbols);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    char type = ' ';
    if (!(fields >> name >> type)) continue;
    name.erase(std::min(name.find('@'), name.size()));  // "dlsym@GLIBC_2.2.5" is dlsym
    const bool undefined = type == 'U' || type == 'w' || type == 'v';
    if (undefined && begins_with_one(kLibraries, name) && !begins_with_one(allowed, name)) {
      return SymbolProblem{SymbolKind::kLibrary, readable(name)};
    }
    if (undefined && is_refused(name)) return SymbolProblem{SymbolKind::kForbidden, readable(name)};
    if (!undefined && (contains(kOthers, name) || begins_with_one(kOthersBeginnings, name) ||
                       begins_with_one(kInternal, name) || is_cuda_function(name))) {
      // Headers also bring weak symbols, copies of inline functions with mangled names.
      const bool inline_copy = (type == 'W' || type == 'V') && name.rfind("_Z", 0) == 0;
      if (!inline_copy) return SymbolProblem{SymbolKind::kReplacement, readable(name)};
    }
  }
  return std::nullopt;
}

bool calls_library(const std::string& symbols, const std::vector<std::string>& libraries) {
  std::istringstream lines(symbols);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" U ") != std::string::npos && begins_with_one(libraries, line)) return true;
  }
  return false;
}

}  // namespace convlab::grader
