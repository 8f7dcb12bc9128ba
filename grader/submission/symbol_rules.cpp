#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

#include "common/base/printable.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

namespace {

using namespace std::string_view_literals;

// Functions that the sandbox of a submission refuses (seccomp_filter.cpp), so that its author reads
// a name instead of the number of a system call. Also functions that get around these rules: lookup
// by name, the layout of the program, its environment. All other functions are allowed, because the
// sandbox controls what they do. So the C and C++ libraries work completely.
constexpr std::string_view kRefused[] = {
    // Processes and programs.
    "fork", "_Fork", "vfork", "clone", "__clone", "execl", "execle", "execlp", "execv", "execve",
    "execvp", "execvpe", "execveat", "fexecve", "posix_spawn", "posix_spawnp", "system", "popen",
    "pclose", "daemon", "wordexp", "wait", "waitpid", "wait3", "wait4", "waitid",
    // Other processes: signals, memory, priority, limits.
    "kill", "killpg", "tgkill", "sigqueue", "pidfd_send_signal", "pidfd_open", "ptrace",
    "process_vm_readv", "process_vm_writev", "setpriority", "sched_setscheduler", "setrlimit",
    "prlimit", "prctl", "setsid", "setpgid", "setpgrp",
    // Connections and terminals.
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "getaddrinfo",
    "gethostbyname", "sendto", "sendmsg", "recvmsg", "recvfrom", "send", "__send", "recv",
    "__recv_chk", "__recvfrom_chk", "sendmmsg", "__sendmmsg", "recvmmsg", "openpty", "forkpty",
    "login_tty", "posix_openpt", "getpt", "grantpt", "unlockpt", "tcsetattr", "tcsetpgrp", "ioctl",
    // Memory without a limit.
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "msgget", "semget", "mq_open",
    // The machine.
    "mount", "umount", "umount2", "chroot", "pivot_root", "unshare", "setns", "reboot",
    "sethostname", "settimeofday", "clock_settime", "adjtime", "adjtimex", "bpf", "perf_event_open",
    "keyctl", "userfaultfd", "sigaction", "signal", "sigset", "sigignore", "ssignal", "sysv_signal",
    "__sysv_signal", "bsd_signal", "mprotect", "pkey_mprotect", "pkey_alloc", "pkey_set", "mremap",
    // Around these rules.
    "dlopen", "dlmopen", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr",
    "environ", "__environ", "_environ", "setenv", "putenv", "unsetenv", "clearenv", "main",
    "_start", "_DYNAMIC", "_r_debug", "__executable_start", "__ehdr_start", "_init", "_fini",
    "etext", "_etext", "edata", "_edata", "end", "_end", "__bss_start", "__libc_start_main",
    "__libc_stack_end"};

// In addition to the list above, so that no older version of a name is missed.
constexpr std::string_view kRefusedBeginnings[] = {"__libc_dlsym", "__libc_dlopen", "_dl_",
                                                   "io_uring_"};

// What the compiler calls so that accesses are observed, and what build_custom_submission.sh puts
// in the place of library functions. Who defines them himself hides.
constexpr std::string_view kHooks[] = {"__tsan_", "__sanitizer_", "__ubsan_", "__asan_",
                                       "convlab_"};

constexpr std::string_view kLibraries[] = {
    "cublas",    "cudnn", "cufft",    "cusparse", "cutensor", "nvrtc",   "cusolver",
    "nvJitLink", "dnnl_", "_ZN4dnnl", "cblas_",   "sgemm",    "openblas"};

// What build_custom_submission.sh adds to the symbols.
constexpr std::string_view kInstruction = "system-call-instruction";

// What a stage uses of the workbook, apart from what its headers define. All else is the channel to
// the grader, or code that would do the exercise.
constexpr std::string_view kWorkbook[] = {"_ZN7convlab", "_ZNK7convlab"};
constexpr std::string_view kWorkbookInterface[] = {
    "Buffer",          "CpuStage",          "StageLeftOut",    "StageRegistration",
    "check_cuda_call", "check_cuda_launch", "check_device",    "cuda_version_text",
    "describe",        "ladder_stage",      "not_implemented", "to_string",
    "validate"};

// The functions of the emulated device that its headers call. All others control it and keep its
// records.
constexpr std::string_view kEmulation[] = {"_ZN7convlab9emulation", "_ZNK7convlab9emulation"};
constexpr std::string_view kEmulationInterface[] = {
    // Memory and copies.
    "AsyncCopyQueue", "DeviceSymbol", "async_copies", "begin_async_copy", "bind_copy",
    "copy_symbol", "run_bound_copies", "symbol_address", "symbol_size", "place_shared",
    // Launches.
    "best_block_size", "blocks_per_multiprocessor", "check_launch_attributes",
    "function_attributes", "is_cooperative", "launch_untyped", "pop_launch", "push_launch",
    "register_kernel", "set_function_attribute", "submit_kernel", "exceed_launch_bounds",
    // Observation and faults.
    "fail_kernel", "fail_with_exception", "note_absent_lane", "note_kernel", "note_wide_accesses",
    "observe_acquire", "observe_copied", "observe_copy", "observe_fence", "observe_object",
    "observe_release", "observe_verification", "observe_warp", "trap",
    // In kernels.
    "barrier_result", "begin_atomic", "block_barrier", "converged_lanes", "current_block_number",
    "current_dynamic_shared", "current_shared_begin", "current_shared_end", "end_atomic",
    "grid_barrier", "host_nanoseconds", "in_kernel", "lane_id", "load_fragments",
    "multiply_fragments", "product_marks", "ptx", "sleep_until_woken", "store_fragments",
    "take_turn", "thread_rank", "wake_sleepers", "warp_collective"};

template <class Words>
bool contains(const Words& words, std::string_view name) {
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

template <class Words>
bool begins_with_one(const Words& words, std::string_view name) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view each) { return name.substr(0, each.size()) == each; });
}

// "13serve_request…" is "serve_request"; nothing if it does not begin with a length.
std::string_view counted_name(std::string_view name) {
  std::size_t begin = 0;
  std::size_t length = 0;
  for (; begin < name.size() && std::isdigit(static_cast<unsigned char>(name[begin])) != 0;
       ++begin) {
    length = length * 10 + static_cast<std::size_t>(name[begin] - '0');
  }
  return length == 0 ? std::string_view() : name.substr(begin, length);
}

template <class Scopes, class Names>
bool is_other_than(const Scopes& scopes, const Names& allowed, std::string_view name) {
  for (const std::string_view scope : scopes) {
    if (name.substr(0, scope.size()) != scope) continue;
    return !contains(allowed, counted_name(name.substr(scope.size())));
  }
  return false;
}

bool is_of_the_workbook(std::string_view name) {
  // Variables inside functions; those of headers are defined where they are used.
  constexpr std::string_view kInside[] = {"_ZZN", "_ZGVZN", "_ZTHN", "_ZTWN"};
  if (begins_with_one(kInside, name)) {
    const std::string_view scope = name.substr(name.find('N'));
    return scope.starts_with("N7convlab") || scope.starts_with("NK7convlab");
  }
  if (begins_with_one(kEmulation, name)) {
    return is_other_than(kEmulation, kEmulationInterface, name);
  }
  return is_other_than(kWorkbook, kWorkbookInterface, name);
}

bool is_refused(std::string_view name) {
  return is_of_the_workbook(name) || contains(kRefused, name) ||
         begins_with_one(kRefusedBeginnings, name);
}

// Whether a file replaces what the grader relies on: a hook, or a function of the emulated device,
// none of which is inline. Classes, and the functions of PTX, are.
bool replaces_the_workbook(std::string_view name) {
  if (begins_with_one(kHooks, name)) return true;
  if (!begins_with_one(kEmulation, name)) return false;
  const std::string_view own = counted_name(name.substr(name.find("emulation") + 9));
  return contains(kEmulationInterface, own) && own != "ptx" &&
         std::islower(static_cast<unsigned char>(own.front())) != 0;
}

// A mangled name may refer back to its parts, twice to each: forty more characters can make the
// text a thousand times longer.
bool grows(const std::string& name) {
  constexpr int kMostReferences = 16;
  constexpr std::size_t kLongest = 512;
  int references = 0;
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    const char next = name[i + 1];
    const bool refers = next == '_' || std::isdigit(static_cast<unsigned char>(next)) != 0;
    if ((name[i] == 'S' || name[i] == 'T') && refers) ++references;
  }
  return references > kMostReferences || name.size() > kLongest;
}

}  // namespace

std::string readable_symbol(const std::string& name) {
  if (grows(name)) {
    constexpr std::size_t kShown = 80;
    return printable_line(name.substr(0, kShown)) + "…";
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return printable_line(status == 0 ? text.get() : name);
}

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
    // What the file defines is its own: the linker makes it local before any other code sees it.
    if (type != 'U' && type != 'w' && type != 'v') {
      if (!replaces_the_workbook(name)) continue;
      return SymbolProblem{SymbolKind::kReplaced, readable_symbol(name)};
    }
    if (name == kInstruction) {
      return SymbolProblem{SymbolKind::kForbidden, "the system by an instruction of its own"};
    }
    if (begins_with_one(kLibraries, name) && !begins_with_one(allowed, name)) {
      return SymbolProblem{SymbolKind::kLibrary, readable_symbol(name)};
    }
    if (is_refused(name)) return SymbolProblem{SymbolKind::kForbidden, readable_symbol(name)};
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
