#include "common/emulation/runtime/signals.hpp"

#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "common/base/address_sanitizer.hpp"
#include "common/base/error.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/host_pointers.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/variable_pages.hpp"

// Bounds of the program's code, from the linker.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char __executable_start;
extern const char etext;
}
// NOLINTEND(readability-identifier-naming)

namespace convlab::emulation {
namespace {

constexpr std::array kFaultSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
constexpr std::size_t kSignalStackBytes = std::size_t{64} * 1024;

std::array<struct sigaction, kFaultSignals.size()> former_actions;

/// Whether the code is not the program's own: kernels are linked into the program.
bool in_library(const void* code) {
  return code < &__executable_start || code >= &etext;
}

void* program_counter(void* context) {
  const auto* user = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a register is an integer
  return reinterpret_cast<void*>(user->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(user->uc_mcontext.pc);
#else
  static_cast<void>(user);
  return nullptr;
#endif
}

/// Whether the access that faulted is a write. Other processors do not say it here: false.
bool is_write([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  // Bit 1 of the error code. Source: Intel 64 Software Developer's Manual, volume 3, 4.7.
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;
#endif
}

}  // namespace

void record_frames(Fault& fault, void* pc) {
  std::array<void*, 48> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  auto* const end = frames.data() + count;
  auto* begin = pc == nullptr ? frames.data() : std::find(frames.data(), end, pc);
  if (begin == end) {
    fault.frames[0] = pc;
    fault.frame_count = 1;
    return;
  }
  fault.frame_count =
      static_cast<int>(std::min<std::ptrdiff_t>(end - begin, std::ssize(fault.frames)));
  std::copy_n(begin, fault.frame_count, fault.frames.begin());
}

namespace {

/// Whether an instruction of x86-64 demands an aligned address. A misaligned address and an address
/// that no program can have raise the same fault, without the address; this tells them apart.
/// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
/// appendix A (opcode maps).
bool demands_alignment([[maybe_unused]] const void* instruction) {
#if defined(__x86_64__)
  const auto* byte = static_cast<const unsigned char*>(instruction);
  const auto is_move = [](unsigned opcode) {
    return opcode == 0x28 || opcode == 0x29 || opcode == 0x2b || opcode == 0x6f || opcode == 0x7f ||
           opcode == 0xe7;
  };
  if (*byte == 0xc5) return is_move(byte[2]);
  if (*byte == 0xc4) return is_move(byte[3]);
  if (*byte == 0x62) return is_move(byte[4]);
  for (; *byte == 0x66 || (*byte & 0xf0U) == 0x40; ++byte) {
  }
  if (*byte != 0x0f) return false;
  const unsigned opcode = byte[1];
  return is_move(opcode) || opcode == 0x38 || opcode == 0x3a || opcode == 0xc2 || opcode == 0xc6 ||
         (opcode >= 0x51 && opcode <= 0x7f) || (opcode >= 0xd0 && opcode <= 0xfe);
#else
  return true;
#endif
}

/// Whether the program itself asks to end here (__builtin_trap), on x86-64; true elsewhere.
bool is_trap([[maybe_unused]] const void* instruction) {
#if defined(__x86_64__)
  const auto* byte = static_cast<const unsigned char*>(instruction);
  return byte[0] == 0x0f && byte[1] == 0x0b;
#else
  return true;
#endif
}

const char* illegal_instruction(int signal, const void* instruction) {
  return signal == SIGILL && !is_trap(instruction)
             ? "this processor lacks an instruction of the program, which was built for another "
               "one: build it again on this machine"
             : "trap instruction";
}

void classify(Fault& fault, BlockRunner& runner, int signal, const siginfo_t& info,
              const void* instruction) {
  if (signal != SIGSEGV && signal != SIGBUS) {
    fault.kind = FaultKind::kArithmetic;
    fault.error = KernelFault::kLaunchFailure;
    fault.reason = signal == SIGFPE ? "integer division by zero, or of the least integer by -1 (a "
                                      "GPU goes on with a meaningless value)"
                                    : illegal_instruction(signal, instruction);
    return;
  }
  fault.address = info.si_addr;
  if (runner.scheduler().fibers().overflown(info.si_addr) != nullptr) {
    fault.kind = FaultKind::kStack;
    fault.error = KernelFault::kHardwareStackError;
  } else if ((info.si_code == BUS_ADRALN && signal == SIGBUS) ||
             (info.si_code == SI_KERNEL && demands_alignment(instruction))) {
    fault.kind = FaultKind::kMisaligned;
    fault.reason = "misaligned address: a vector access must be aligned to its size";
    fault.error = KernelFault::kMisalignedAddress;
  } else if (info.si_code == SI_KERNEL) {
    fault.address = kNoAddress;
  }
}

/// The faulting instruction is the host program's and holds no lock of the runtime, so a report can
/// be made here as anywhere else.
void report_on_host(EmulationReport report, void* context) {
  static std::atomic<bool> reported = false;
  if (reported.exchange(true)) return;
  Fault fault;
  record_frames(fault, program_counter(context));
  report.at = source_place(fault.frames.data(), fault.frame_count);
  send_report(std::move(report));
}

/// Nobody else handles the signal that ends the host program: a note tells where and why.
EmulationReport end_of_host(int signal, const siginfo_t& info, void* context) {
  EmulationReport report{.is_note = true, .what = "the host ends here: "};
  if (signal == SIGFPE)
    report.what += "integer division by zero, or of the least integer by -1";
  else if (signal != SIGSEGV && signal != SIGBUS)
    report.what += illegal_instruction(signal, program_counter(context));
  else
    report.what += reinterpret_cast<std::uintptr_t>(info.si_addr) < kPage
                       ? "it follows a null pointer"
                       : "it uses an address where it has no memory";
  return report;
}

void hand_on(int signal, siginfo_t* info, void* context) {
  const auto* position = std::ranges::find(kFaultSignals, signal);
  const struct sigaction& former =
      former_actions[static_cast<std::size_t>(position - kFaultSignals.begin())];
  const bool is_left = former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN;
  if (is_left && info->si_code > 0) report_on_host(end_of_host(signal, *info, context), context);
  // A fault inside the former handler must not come here again.
  struct sigaction next = former;
  if ((former.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) next = {};
  sigaction(signal, &next, nullptr);
  if ((former.sa_flags & SA_SIGINFO) != 0 && former.sa_sigaction != nullptr)
    former.sa_sigaction(signal, info, context);
  else if (!is_left)
    former.sa_handler(signal);
  else if (info->si_code <= 0)
    raise(signal);
  // After the return the instruction faults again, and the former handler takes over.
}

void on_fault(int signal, siginfo_t* info, void* context) {
  BlockRunner* const runner = BlockRunner::current();
  if (runner == nullptr || !runner->inside_kernel()) {
    const bool memory = signal == SIGSEGV || signal == SIGBUS;
    // Handlers are installed by allocations and grids: device_memory() exists already.
    if (memory && info->si_code > 0 &&
        (device_memory().contains(info->si_addr) || memory_of_variable(info->si_addr)))
      report_on_host(device_memory().describe_host_access(info->si_addr), context);
    hand_on(signal, info, context);
    return;
  }
  Fault& fault = runner->new_fault();
  record_frames(fault, program_counter(context));
  fault.writes = is_write(context);
  classify(fault, *runner, signal, *info, program_counter(context));
  runner->abandon();
}

int timeout_signal() {
  return SIGRTMIN + 5;
}

void on_timeout(int /*signal*/, siginfo_t* info, void* context) {
  BlockRunner* const runner = BlockRunner::current();
  // The host asks again soon.
  if (runner == nullptr || !runner->inside_kernel() || is_switching()) return;
  // A kernel that is stopped inside printf or malloc would hold their locks forever.
  const bool must = info->si_value.sival_int != 0;
  if (!must && in_library(program_counter(context))) return;
  Fault& fault = runner->new_fault(FaultKind::kKernelTime, KernelFault::kLaunchTimeout);
  record_frames(fault, program_counter(context));
  // The handler never returns, and a return would unblock the signal.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, timeout_signal());
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  runner->abandon();
}

struct sigaction action_for(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  // The handler leaves for another stack and never returns: no signal may stay blocked.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  return action;
}

// ---- system calls -------------------------------------------------------------------------------

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

sock_filter load_argument(std::size_t number, std::size_t half = 0) {
  return load(offsetof(seccomp_data, args) + number * sizeof(std::uint64_t) + half);
}

sock_filter jump(unsigned test, std::uint64_t value, unsigned char if_true,
                 unsigned char if_false) {
  return BPF_JUMP(static_cast<unsigned short>(BPF_JMP | test | BPF_K),
                  static_cast<std::uint32_t>(value), if_true, if_false);
}

/// In a sandbox: ends the program if a call reaches the channel or withheld memory without the key
/// of keyed_call(). Its own code might talk to the grader in the workbook's place, or put a file
/// that it can read in the place of device memory. Shares device memory with copies of the process
/// first, which nobody can do later: no limit of a process counts such memory.
void refuse_calls_without_key(int /*count*/, char** /*arguments*/, char** /*environment*/) {
  if (CONVLAB_ADDRESS_SANITIZER) return;  // it protects memory, too
  // A sandbox has set this; elsewhere the author may do what he likes.
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return;
  DeviceMemory::share_early();
  const auto& key = draw_call_key();
  constexpr std::size_t kHigh = sizeof(std::uint32_t);  // the upper half of an argument
  std::vector<sock_filter> filter;
  const auto add = [&](sock_filter step) { filter.push_back(step); };
  // Where tests lead; only forwards, as the system demands.
  constexpr std::size_t kMoved = 8, kMapped = 10, kRange = 13, kKeyed = 27, kAllow = 33, kTrap = 34,
                        kRefused = 35;
  const auto if_is = [&](unsigned test, std::uint64_t value, std::size_t goal) {
    add(jump(test, value, static_cast<unsigned char>(goal - filter.size() - 1), 0));
  };
  const auto unless = [&](unsigned test, std::uint64_t value, std::size_t goal) {
    add(jump(test, value, 0, static_cast<unsigned char>(goal - filter.size() - 1)));
  };
  add(load(offsetof(seccomp_data, nr)));
  if_is(BPF_JEQ, SYS_sendmsg, kKeyed);
  if_is(BPF_JEQ, SYS_recvmsg, kKeyed);
  if_is(BPF_JEQ, SYS_mremap, kMoved);
  if_is(BPF_JEQ, SYS_mmap, kMapped);
  for (const unsigned call : {SYS_mprotect, SYS_munmap}) if_is(BPF_JEQ, call, kRange);
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  add(load_argument(3));  // kMoved: to a given place?
  if_is(BPF_JSET, MREMAP_FIXED, kTrap);
  add(load_argument(3));  // kMapped: shared with other processes?
  add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_ANONYMOUS));
  if_is(BPF_JEQ, MAP_SHARED | MAP_ANONYMOUS, kRefused);
  add(load_argument(1, kHigh));  // kRange: from the address on, the length
  add(BPF_STMT(BPF_MISC | BPF_TAX, 0));
  add(load_argument(0, kHigh));
  if_is(BPF_JGE, kWithheldEnd >> 32U, kAllow);
  add(BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0));
  add(BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1));
  unless(BPF_JGE, kWithheldBegin >> 32U, kAllow);
  add(load(offsetof(seccomp_data, nr)));
  if_is(BPF_JEQ, SYS_munmap, kTrap);
  unless(BPF_JEQ, SYS_mmap, kKeyed);
  add(load_argument(2));  // nothing that can be accessed, and no file
  unless(BPF_JEQ, PROT_NONE, kTrap);
  add(load_argument(3));
  add(jump(BPF_JSET, MAP_SHARED, kTrap - kKeyed, kAllow - kKeyed));
  for (std::size_t i = 0; i < key.size(); ++i) {
    add(load_argument(3 + i));
    unless(BPF_JEQ, key[i], kTrap);
  }
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  if (filter.size() != kRefused + 1) std::abort();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // Also in threads that started before: code that chooses a function (ifunc) runs earlier.
  const long stray =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (stray > 0) std::abort();
}

// Before the constructors of all static objects, and any other code of the program.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const run_first)(int, char**, char**) = refuse_calls_without_key;

std::terminate_handler former_handler = nullptr;

/// An uncaught convlab::Error ends the program with its sentence and its exit code: programs with a
/// main of their own do not catch our errors.
[[noreturn]] void end_with_sentence() {
  try {
    if (std::current_exception()) throw;
  } catch (const Error& error) {
    std::fflush(nullptr);
    std::fprintf(stderr, "emulated device: %s\n", error.what());
    std::_Exit(static_cast<int>(error.exit_code()));
  } catch (...) {
  }
  former_handler();
  std::abort();
}

// Before static objects that may use the device.
[[gnu::constructor(101)]] void tell_uncaught_errors() {
  former_handler = std::set_terminate(end_with_sentence);
}

}  // namespace

void install_signal_handlers() {
  static const int first_backtrace = [] {
    // The first call of backtrace() loads a library, which a handler must not do.
    std::array<void*, 1> frame;
    return backtrace(frame.data(), 1);
  }();
  static_cast<void>(first_backtrace);
  struct sigaction current = {};
  const auto is_ours = [&] {
    return (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &on_fault;
  };
  // Whoever replaces one replaces this one; each question is a system call in every launch.
  static_assert(kFaultSignals.front() == SIGSEGV);
  sigaction(SIGSEGV, nullptr, &current);
  if (is_ours()) return;
  const struct sigaction fault = action_for(&on_fault);
  for (std::size_t i = 0; i < kFaultSignals.size(); ++i) {
    sigaction(kFaultSignals[i], nullptr, &current);
    if (is_ours()) continue;
    former_actions[i] = current;
    sigaction(kFaultSignals[i], &fault, nullptr);
  }
  struct sigaction timeout = action_for(&on_timeout);
  // A second signal must not interrupt the handler of the first: it would not see the library.
  timeout.sa_flags &= ~static_cast<int>(SA_NODEFER);
  timeout.sa_flags |= SA_RESTART;
  sigaction(timeout_signal(), &timeout, nullptr);
}

/// @param caller  the return address of a call that the compiler has put before an access
static void record_call(Fault& fault, const void* caller) {
  record_frames(fault, const_cast<void*>(caller));
  fault.frames[0] = const_cast<char*>(static_cast<const char*>(caller)) - 1;  // the call itself
}

bool fail_access(const void* address, bool writes, const void* caller) {
  BlockRunner* const runner = BlockRunner::current();
  if (runner == nullptr || !runner->inside_kernel()) return false;
  if (is_allowed_host_memory(runner->call(), address)) return false;
  Fault& fault = runner->new_fault();
  record_call(fault, caller);
  fault.writes = writes;
  fault.address = address;
  runner->abandon();
}

void fail_misaligned(std::uintptr_t address, std::size_t bytes, const void* caller) {
  BlockRunner* const runner = BlockRunner::current();
  if (runner == nullptr || !runner->inside_kernel()) return;
  Fault& fault = runner->new_fault(FaultKind::kMisaligned, KernelFault::kMisalignedAddress);
  record_call(fault, caller);
  fault.message = "misaligned address: an access to " + std::to_string(bytes) +
                  " bytes at once needs a multiple of " + std::to_string(bytes) +
                  ", and this address is " + std::to_string(address % bytes) + " beyond one";
  runner->abandon();
}

void fail_on_host(EmulationReport report, const void* caller) {
  void* const frame = const_cast<void*>(caller);
  report.at = source_place(&frame, 1);
  send_report(std::move(report));
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SEGV_ACCERR;
  info.si_addr = frame;
  syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, &info);
}

void forget_former_handlers() {
  former_actions = {};
}

// By a timer: in a sandbox no process but the first may send signals.
void interrupt_kernel(pid_t worker, bool even_in_library) {
  constexpr itimerspec kAtOnce{{}, {0, 1}};
  constexpr timespec kUntilSent{0, 50'000};
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = timeout_signal();
  event.sigev_value.sival_int = even_in_library ? 1 : 0;
  event._sigev_un._tid = worker;
  timer_t timer = {};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  timer_settime(timer, 0, &kAtOnce, nullptr);
  nanosleep(&kUntilSent, nullptr);
  timer_delete(timer);
}

void prepare_thread_for_signals() {
  stack_t stack = {};
  sigaltstack(nullptr, &stack);
  if ((stack.ss_flags & SS_DISABLE) == 0) return;
  static thread_local const auto memory = std::make_unique<std::byte[]>(kSignalStackBytes);
  stack = {};
  stack.ss_sp = memory.get();
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace convlab::emulation
