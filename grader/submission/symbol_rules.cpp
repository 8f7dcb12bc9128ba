#include "grader/submission/symbol_rules.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

namespace convlab::grader {

namespace {

using namespace std::string_view_literals;

// Names with these beginnings may be used.
constexpr std::string_view kAllowedBeginnings[] = {
    // The language and its library.
    "_ZNSt", "_ZNKSt", "_ZSt", "_ZTISt", "_ZTTSt", "_ZNSo", "_ZNKSo", "_ZNSi", "_ZNKSi", "_ZNSd",
    "_ZNSs", "_ZNKSs", "_ZTVSt", "_ZTVN10__cxxabiv1", "_ZTIN10__cxxabiv1", "_ZTI", "_ZTS", "_Zn",
    "_Zd", "_ZGVZ", "_ZZ", "__cxa_", "__gxx_personality", "_Unwind_", "__stack_chk_",
    "__dso_handle", "_GLOBAL_OFFSET_TABLE_", "__tls_get_addr", "__asan_", "__ubsan_", "__odr_asan",
    "__sanitizer_", "__sync_", "__atomic_", "__assert_fail", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx",
    "__mul", "__div", "__udiv", "__mod", "__umod", "__float", "__fix", "__ext", "__trunc", "__gnu_",
    // Threads.
    "GOMP_", "omp_", "__kmpc_", "pthread_", "sched_yield", "sched_getcpu",
    // CUDA's runtime and its emulated replacement.
    "cuda", "__cuda", "_Z4cuda", "__nv_", "__fatbinwrap", "_ZN7convlab9emulation",
    "_ZNK7convlab9emulation", "_ZN18cooperative_groups", "_ZN4nvcuda", "blockIdx", "blockDim",
    "threadIdx", "gridDim", "warpSize", "_ZTH", "_ZTW",
    // The workbook, except kInternal.
    "_ZN7convlab", "_ZNK7convlab", "_ZTVN7convlab", "_ZN12GPUInterface"};

constexpr std::string_view kAllowedNames[] = {"memcpy",
                                              "memmove",
                                              "memset",
                                              "memcmp",
                                              "memchr",
                                              "strlen",
                                              "strcmp",
                                              "strncmp",
                                              "strcpy",
                                              "strncpy",
                                              "strcat",
                                              "strchr",
                                              "strrchr",
                                              "strstr",
                                              "strtol",
                                              "strtod",
                                              "strtof",
                                              "strtoul",
                                              "atoi",
                                              "atof",
                                              "malloc",
                                              "calloc",
                                              "realloc",
                                              "free",
                                              "aligned_alloc",
                                              "posix_memalign",
                                              "memalign",
                                              "qsort",
                                              "bsearch",
                                              "abs",
                                              "labs",
                                              "rand",
                                              "srand",
                                              "rand_r",
                                              "random",
                                              "srandom",
                                              "drand48",
                                              "srand48",
                                              "printf",
                                              "fprintf",
                                              "sprintf",
                                              "snprintf",
                                              "vprintf",
                                              "vfprintf",
                                              "vsnprintf",
                                              "puts",
                                              "putchar",
                                              "putc",
                                              "fputs",
                                              "fputc",
                                              "fwrite",
                                              "fread",
                                              "fopen",
                                              "fclose",
                                              "fflush",
                                              "fgets",
                                              "fgetc",
                                              "fseek",
                                              "ftell",
                                              "perror",
                                              "remove",
                                              "stdout",
                                              "stderr",
                                              "stdin",
                                              "__printf_chk",
                                              "__fprintf_chk",
                                              "__sprintf_chk",
                                              "__snprintf_chk",
                                              "__vfprintf_chk",
                                              "__memcpy_chk",
                                              "__memset_chk",
                                              "__memmove_chk",
                                              "__strcpy_chk",
                                              "__strcat_chk",
                                              "exit",
                                              "_exit",
                                              "_Exit",
                                              "abort",
                                              "getenv",
                                              "time",
                                              "clock",
                                              "clock_gettime",
                                              "gettimeofday",
                                              "nanosleep",
                                              "usleep",
                                              "sleep",
                                              "sysconf",
                                              "getpid",
                                              "getppid",
                                              "gettid",
                                              "__errno_location",
                                              "__libc_single_threaded",
                                              "environ",
                                              "__environ",
                                              "write",
                                              "sincosf",
                                              "sincos",
                                              "__isoc99_sscanf",
                                              "__isoc23_strtol",
                                              "atexit",
                                              "on_exit",
                                              "strerror",
                                              "strtoull",
                                              "strtoll",
                                              "unlink",
                                              "pow",
                                              "powf"};

// Mathematics, with or without an f or l at the end.
constexpr std::string_view kMathematics[] = {
    "sqrt",   "cbrt",    "exp",    "exp2",   "expm1",     "log",       "log2",     "log10", "log1p",
    "sin",    "cos",     "tan",    "asin",   "acos",      "atan",      "atan2",    "sinh",  "cosh",
    "tanh",   "floor",   "ceil",   "round",  "rint",      "trunc",     "fmod",     "fma",   "fmax",
    "fmin",   "fabs",    "ldexp",  "frexp",  "modf",      "hypot",     "erf",      "erfc",  "nan",
    "lround", "llround", "lrint",  "llrint", "nearbyint", "remainder", "copysign", "ilogb", "logb",
    "scalbn", "tgamma",  "lgamma", "fdim",   "pow"};

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
    "_ZN7convlab9run_stage",     "_ZN7convlab10run_phases",        "_ZN7convlab10find_stage",
    "_ZN7convlab5serve",         "_ZN7convlab17registered_stages", "_ZN7convlab6encode",
    "_ZN7convlab12send_message", "_ZN7convlab15receive_message",   "_ZN7convlab14decode_request",
    "_ZN7convlab12decode_reply", "_ZN7convlab14milestone_main",    "_ZN7convlab12MappedSegment"};

template <class Words>
bool contains(const Words& words, std::string_view name) {
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

template <class Words>
bool begins_with_one(const Words& words, std::string_view name) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view each) { return name.substr(0, each.size()) == each; });
}

bool is_mathematics(std::string_view name) {
  if (contains(kMathematics, name)) return true;
  return (name.back() == 'f' || name.back() == 'l') &&
         contains(kMathematics, name.substr(0, name.size() - 1));
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

bool is_allowed(std::string_view name) {
  const std::string_view plain = without_mangling(name);
  if (begins_with_one(kInternal, name)) return false;
  return begins_with_one(kAllowedBeginnings, name) || plain.substr(0, 4) == "cuda"sv ||
         contains(kAllowedNames, name) || is_mathematics(name);
}

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols) {
  using Kind = SymbolProblem::Kind;
  std::istringstream lines(symbols);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    char type = ' ';
    if (!(fields >> name >> type)) continue;
    const bool undefined = type == 'U' || type == 'w' || type == 'v';
    const bool strong =
        type == 'T' || type == 'D' || type == 'B' || type == 'R' || type == 'i' || type == 'W';
    if (undefined && begins_with_one(kLibraries, name)) {
      return SymbolProblem{Kind::kLibrary, readable(name)};
    }
    if (undefined && !is_allowed(name)) return SymbolProblem{Kind::kForbidden, readable(name)};
    if (strong && (contains(kOthers, name) || begins_with_one(kOthersBeginnings, name) ||
                   begins_with_one(kInternal, name) || is_cuda_function(name))) {
      // Headers also bring weak symbols, copies of inline functions with mangled names.
      const bool inline_copy = type == 'W' && name.rfind("_Z", 0) == 0;
      if (!inline_copy) return SymbolProblem{Kind::kReplacement, readable(name)};
    }
  }
  return std::nullopt;
}

}  // namespace convlab::grader
