#include "common/emulation/runtime/kernel_process.hpp"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/address_sanitizer.hpp"
#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/context.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_access.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/parcel.hpp"
#include "common/emulation/runtime/scheduler.hpp"
#include "common/emulation/runtime/shared_memory.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/withheld.hpp"

namespace convlab::emulation {
namespace {

bool is_copied = false;
bool has_notes = false;        ///< kernels that ran apart have left some
std::size_t stack_pieces = 0;  ///< that the last copy has taken (FiberPool)

/// Whose turn it is. A page of its own: the host opens it while a kernel runs, and the copy closes
/// it meanwhile.
struct alignas(kPage) Turn {
  enum : std::uint32_t { kHost, kKernel, kNobody };  ///< nobody: the copy ends
  std::atomic<std::uint32_t> whose;

  static Turn& get() { return *reinterpret_cast<Turn*>(device_memory().messages()); }
  void give_to(std::uint32_t other) {
    whose.store(other);
    syscall(SYS_futex, &whose, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  /// Returns now and then while it is still the other's.
  void wait_while(std::uint32_t other) {
    constexpr timespec kNow{0, 20'000'000};
    syscall(SYS_futex, &whose, FUTEX_WAIT, other, &kNow, nullptr, 0);
  }
};

/// What copy and host leave for each other, behind the turn; words follow.
struct Messages {
  static constexpr std::size_t kReportBytes = std::size_t{1} << 20U;
  static constexpr std::size_t kNoteBytes = std::size_t{64} << 20U;
  static constexpr std::size_t kArgumentBytes = std::size_t{64} << 10U;

  bool is_complete;                     ///< the kernel came to its end
  std::array<char, 256> error;          ///< why the machine could not run the kernel; usually empty
  std::size_t report_bytes;             ///< 0: the kernel has not failed
  std::size_t note_bytes;               ///< of all launches so far
  std::size_t stack_pieces;             ///< that the process has taken (FiberPool)
  std::byte arguments[kArgumentBytes];  ///< of the next launch, if the copy stays for it
  std::byte report[kReportBytes];
  std::byte notes[kNoteBytes];

  [[nodiscard]] std::byte* words() {
    return reinterpret_cast<std::byte*>(this) + round_up(sizeof *this, kPage);
  }
};

/// The turn, the messages behind it, and so much room for words behind these. Closed when it ends.
/// Each step is one system call.
class Room {
 public:
  explicit Room(std::size_t word_bytes = 0)
      : bytes_(sizeof(Turn) + round_up(sizeof(Messages), kPage) + round_up(word_bytes, kPage)) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { close(); }

  void open() const {
    if (bytes_ > DeviceMemory::kMessageBytes || !protect(begin_, bytes_, PROT_READ | PROT_WRITE))
      throw EnvironmentError("The machine has no memory left for what a kernel has written.");
  }
  void open_turn() const { protect(begin_, sizeof(Turn), PROT_READ | PROT_WRITE); }
  void close_messages() const { protect(begin_ + sizeof(Turn), bytes_ - sizeof(Turn), PROT_NONE); }
  void close() const { protect(begin_, bytes_, PROT_NONE); }
  Messages* operator->() const { return reinterpret_cast<Messages*>(begin_ + sizeof(Turn)); }

 private:
  std::byte* begin_ = device_memory().messages();
  std::size_t bytes_;
};

void pass_notes(Parcel& parcel) {
  pass_launch_notes(parcel);
  pass_poisoned_variables(parcel);
  if (observer != nullptr) observer->pass_notes(parcel);
}

void load_notes(const Room& room) {
  if (room->note_bytes == 0) return;
  Parcel parcel(Parcel::Mode::kReads, room->notes,
                std::min(room->note_bytes, Messages::kNoteBytes));
  pass_notes(parcel);
}

// ---- what a copy may do -------------------------------------------------------------------------

struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Whatever this process shares with others, but for device memory. Files that it has mapped, too.
std::vector<Mapping> shared_mappings() {
  std::vector<Mapping> shared;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Mapping each;
    char dash = 0;
    std::string rights;
    words >> std::hex >> each.begin >> dash >> each.end >> rights;
    const bool is_device = each.begin >= kWithheldBegin && each.begin < kWithheldEnd;
    if (rights.ends_with('s') && !is_device) shared.push_back(each);
  }
  return shared;
}

/// What the program has registered stays, as a copy; the rest is no memory of a kernel's.
void leave_shared_memory() {
  for (const auto& [begin, end] : shared_mappings()) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the system's words for a place
    auto* const place = reinterpret_cast<std::byte*>(begin);
    const std::size_t bytes = end - begin;
    if (!only<PinnedMemory>().meets(place, bytes)) {
      munmap(place, bytes);
      continue;
    }
    const std::vector<std::byte> content(place, place + bytes);
    if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
      throw EnvironmentError("The machine has no memory left for what a kernel may read.");
    std::memcpy(place, content.data(), bytes);
  }
}

// What threads, their memory and their clocks need. No call reaches a file or another process.
constexpr unsigned kCalls[] = {SYS_futex,
                               SYS_sched_yield,
                               SYS_clock_gettime,
                               SYS_clock_nanosleep,
                               SYS_nanosleep,
                               SYS_clock_getres,
                               SYS_gettimeofday,
                               SYS_mprotect,
                               SYS_munmap,
                               SYS_madvise,
                               SYS_mremap,
                               SYS_brk,
                               SYS_rt_sigreturn,
                               SYS_rt_sigaction,
                               SYS_rt_sigprocmask,
                               SYS_sigaltstack,
                               SYS_exit,
                               SYS_exit_group,
                               SYS_getpid,
                               SYS_gettid,
                               SYS_getrandom,
                               SYS_set_robust_list,
                               SYS_rseq,
                               SYS_getppid,
                               SYS_sched_getaffinity,
                               SYS_timer_create,
                               SYS_timer_settime,
                               SYS_timer_delete,
                               SYS_restart_syscall};

void allow_only_threads() {
  if (CONVLAB_ADDRESS_SANITIZER) return;  // it writes its reports
  std::vector<sock_filter> filter;
  const auto load = [&](std::size_t offset) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  };
  const auto give = [&](unsigned result) { filter.push_back(BPF_STMT(BPF_RET | BPF_K, result)); };
  // A call whose flags hold exactly these bits of the mask.
  const auto with_flags = [&](unsigned call, std::size_t argument, unsigned mask, unsigned bits) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5));
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    filter.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1));
    give(SECCOMP_RET_ALLOW);
    give(SECCOMP_RET_ERRNO | EPERM);
  };
  load(offsetof(seccomp_data, nr));
  for (const unsigned call : kCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    give(SECCOMP_RET_ALLOW);
  }
  with_flags(SYS_mmap, 3, MAP_PRIVATE | MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE | MAP_ANONYMOUS);
  with_flags(SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);
  constexpr int kThisProcess = -10'000;  // PIDFD_SELF: the guards of stacks
  with_flags(SYS_process_madvise, 0, ~0U, static_cast<unsigned>(kThisProcess));
  give(SECCOMP_RET_ERRNO | ENOSYS);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Also for threads that code of the program may have started when the process was copied.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    throw EnvironmentError("The system does not let a process give up its calls (seccomp).");
}

/// Runs the kernel and leaves what it has made in the room, which is closed meanwhile.
void run_and_report(const KernelCall& call, TrueWords& words, const Room& room) {
  room.close();
  std::optional<EmulationReport> failure;
  std::string error;
  try {
    failure = run_here(call);
  } catch (const EnvironmentError& problem) {
    error = problem.what();
  }
  room.open();
  words.hand_over(room->words());
  error.copy(room->error.data(), room->error.size() - 1);
  if (failure) {
    Parcel report(Parcel::Mode::kWrites, room->report, Messages::kReportBytes);
    report.pass(*failure);
    room->report_bytes = report.bytes();
  }
  Parcel notes(Parcel::Mode::kWrites, room->notes, Messages::kNoteBytes);
  pass_notes(notes);
  room->note_bytes = notes.bytes();
  room->stack_pieces = FiberPool::pieces();
  room->is_complete = true;
}

[[noreturn]] void run_as_copy(const KernelCall& call, TrueWords& words) {
  constexpr int kEnded = 1;
  is_copied = true;
  try {
    const pid_t host = getppid();
    leave_shared_memory();
    forget_former_handlers();
    allow_only_threads();
    const DeviceAccess access;
    const Room room(words.bytes());
    if (has_notes) {
      room.open();
      load_notes(room);
    }
    words.reveal();
    for (;;) {
      run_and_report(call, words, room);
      Turn::get().give_to(Turn::kHost);
      while (Turn::get().whose.load() == Turn::kHost) {
        Turn::get().wait_while(Turn::kHost);
        if (getppid() != host) _exit(0);
      }
      if (Turn::get().whose.load() == Turn::kNobody) _exit(0);
      std::memcpy(call.arguments, room->arguments, call.argument_bytes);
      words.take_over(room->words());
    }
  } catch (...) {
    _exit(kEnded);
  }
}

/// The copy that ran the last launch. It runs the same launch again, with other arguments, as long
/// as nothing else has changed: that takes a twentieth of the time of a new one.
struct LastCopy {
  pid_t process = 0;  ///< 0: there is none
  KernelCall call{};
  std::uint64_t changes = 0;  ///< DeviceMemory::changes() at that time
  TrueWords words{};          ///< of its last launch

  [[nodiscard]] bool can_run(const KernelCall& other) const {
    const auto sizes = [](const KernelCall& each) {
      return std::tuple(each.run_thread, each.grid.x, each.grid.y, each.grid.z, each.block.x,
                        each.block.y, each.block.z, each.dynamic_shared_bytes, each.shared_limit,
                        each.cooperative, each.site.file, each.site.position());
    };
    return process != 0 && observer == nullptr && changes == device_memory().changes() &&
           sizes(call) == sizes(other) && other.argument_bytes <= Messages::kArgumentBytes;
  }
};

/// What ended the copy before its end.
EmulationReport unexpected_end(const KernelCall& call, int status) {
  EmulationReport report = report_about(call, FaultKind::kException);
  report.what =
      "the kernel ended the process in which it ran: it called a function of the host that no GPU "
      "has, or wrote to memory that is none of the device's";
  if (WIFSIGNALED(status)) report.what += " (" + std::string(strsignal(WTERMSIG(status))) + ")";
  return report;
}

pid_t copy_process(const KernelCall& call, TrueWords& words) {
  // What each copy would else ask the system for.
  install_signal_handlers();
  FiberPool::prepare(stack_pieces);
  thread_stack();
  const pid_t copy = [] {
    const auto no_change = device_memory().hold();
    return fork();
  }();
  if (copy < 0)
    throw EnvironmentError(
        "The machine has no room for a process in which a kernel runs (ulimit -u, memory?).");
  if (copy == 0) run_as_copy(call, words);
  return copy;
}

}  // namespace

bool runs_apart() {
  return is_withholding() && !is_copied && (observer == nullptr || observer->runs_apart());
}

bool is_copy() {
  return is_copied;
}

std::optional<EmulationReport> run_apart(const KernelCall& call) {
  const auto alone = TrueWords::alone();
  TrueWords words(call);
  LastCopy& last = only<LastCopy>();
  const bool goes_on = last.can_run(call);
  if (!goes_on) end_copy();
  const Room room(words.bytes());
  if (goes_on) {
    room.open();
    words.reveal_to(room->arguments, room->words(), std::move(last.words));
  } else {
    room.open_turn();
  }
  Turn::get().give_to(Turn::kKernel);
  if (goes_on) {
    room.close_messages();
  } else {
    words.remember();
    last = {.process = copy_process(call, words), .call = call};
    last.changes = device_memory().changes();
  }
  int status = 0;
  while (Turn::get().whose.load() == Turn::kKernel) {
    Turn::get().wait_while(Turn::kKernel);
    const pid_t ended = waitpid(last.process, &status, WNOHANG);
    if (ended == last.process || (ended < 0 && errno == ECHILD)) {
      last.process = 0;
      break;
    }
  }
  has_notes = true;
  room.open();
  // Until a copy has come to the end of the next launch nothing is known of that.
  const bool is_complete = std::exchange(room->is_complete, false);
  const std::string error = room->error.data();
  room->error[0] = '\0';
  const std::size_t report_bytes = std::exchange(room->report_bytes, 0);
  if (!is_complete || !error.empty()) {
    end_copy();
    if (!is_complete) return unexpected_end(call, status);
    throw EnvironmentError(error);
  }
  stack_pieces = room->stack_pieces;
  words.settle(room->words());
  last.words = std::move(words);
  if (report_bytes == 0) return std::nullopt;
  EmulationReport failure;
  Parcel report(Parcel::Mode::kReads, room->report, std::min(report_bytes, Messages::kReportBytes));
  try {
    report.pass(failure);
  } catch (const std::length_error&) {
    return unexpected_end(call, status);
  }
  return failure;
}

void end_copy() {
  const LastCopy last = std::exchange(only<LastCopy>(), {});
  if (is_copied || last.process == 0) return;
  {
    const Room room(last.words.bytes());
    room.open();
    if (last.words.bytes() != 0) madvise(room->words(), last.words.bytes(), MADV_REMOVE);
    // Not by a signal: in a sandbox this process may send none to others.
    Turn::get().give_to(Turn::kNobody);
  }
  while (waitpid(last.process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void fetch_notes() {
  end_copy();
  if (!std::exchange(has_notes, false) || is_copied) return;
  const Room room;
  room.open();
  try {
    load_notes(room);
  } catch (const std::length_error&) {  // what a kernel has damaged is lost
  }
  room->note_bytes = 0;
}

}  // namespace convlab::emulation
