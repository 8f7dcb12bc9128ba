#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/fault.hpp"
#include "common/emulation/runtime/fiber.hpp"
#include "common/emulation/runtime/shared_memory.hpp"

namespace convlab::emulation {

/// One thread of the running block. Small: a barrier visits each of them, and with their stacks
/// they should fit the first-level cache.
struct alignas(32) EmulatedThread {
  enum class State : std::uint8_t {
    kFresh,
    kRunning,
    kReady,
    kAtBarrier,
    kAtOtherBarrier,  ///< a divergent barrier: not the one that others wait in
    kInWarp,
    kConverging,
    kAsleep,  ///< until another thread wakes it
    kExited
  };

  uint3 index = {};
  std::uint16_t rank = 0;
  State state = State::kExited;  ///< until the block is over, as settle_states says
  Context context;               ///< its own stack, once it has waited
};
static_assert(sizeof(EmulatedThread) == 32);

/// What a thread waits in, or waited in last.
struct Wait {
  const char* call = "";
  CallSite site;
};

/// A warp operation for which some lanes have arrived.
struct PendingExchange {
  WarpOperation operation;
  WarpExchange exchange;
};

/// A thread that waits for others to say that something has changed.
struct Sleeper {
  const void* reason;
  EmulatedThread* thread;
};

struct Warp {
  std::uint32_t live = 0;
  std::uint32_t converged = 0;  ///< what the lanes that go on together get from converged_lanes
  std::vector<PendingExchange> pending;
};

/// Runs blocks one after the other on the calling worker.
///
/// A *carrying* fiber runs thread after thread on one stack. When a thread must wait, that stack
/// becomes the thread's own and the next carrier goes on; threads that may continue come before
/// threads that have not begun, in lane order, so that a warp finishes early and stacks stay warm.
/// A kernel in which nothing waits switches stacks twice per block.
class BlockRunner {
 public:
  /// Lets a block wait until all blocks before it are over; false if the grid was cancelled.
  using TakeTurn = bool (*)(void* grid, std::uint64_t position);

  BlockRunner();

  /// The runner of the calling worker, or null on a thread of the host.
  static BlockRunner* current() { return current_; }
  /// The same for code that only a kernel may call. @throws convlab::UsageError on the host
  static BlockRunner& of_kernel() {
    if (current_ == nullptr || !current_->inside_) [[unlikely]]
      refuse_host();
    return *current_;
  }

  void begin_grid(const KernelCall& call, TakeTurn turn, void* grid);
  /// Runs one block to its end. @return false if the kernel failed: fault() tells why
  bool run(uint3 block_index, std::uint64_t position);

  [[nodiscard]] const Fault& fault() const { return fault_; }
  [[nodiscard]] const KernelCall& call() const { return *call_; }
  [[nodiscard]] const std::vector<EmulatedThread>& threads() const { return threads_; }
  /// Of a block that is over.
  [[nodiscard]] const Wait& last_wait(const EmulatedThread& thread) const {
    return waits_[thread.rank];
  }
  /// The mask of the warp operation that the thread waits in.
  [[nodiscard]] std::uint32_t awaited_lanes(const EmulatedThread& thread) const;
  [[nodiscard]] uint3 block_index() const { return block_index_; }
  [[nodiscard]] const FiberPool& fibers() const { return fibers_; }
  [[nodiscard]] SharedMemory& shared_memory() { return shared_; }
  [[nodiscard]] const SharedMemory& shared_memory() const { return shared_; }

  // What a thread of the block may ask for.
  [[nodiscard]] const EmulatedThread& thread() const { return *thread_; }
  [[nodiscard]] bool inside_kernel() const { return inside_; }
  [[nodiscard]] std::uint32_t live_lanes() const { return warps_[thread_->rank / kWarpSize].live; }
  void barrier(const char* name, bool predicate, CallSite site);
  /// Of the barrier that the thread has come out of.
  [[nodiscard]] BarrierResult barrier_result() const { return barrier_result_; }
  void collective(const WarpOperation& operation, std::uint32_t mask, const void* input,
                  void* output, CallSite site);
  std::uint32_t converge(CallSite site);
  void sleep(const char* name, const void* reason, CallSite site);
  void wake(const void* reason);
  void take_turn();

  /// Ends the block. Fill in fault first; async-signal-safe.
  Fault& new_fault();
  [[noreturn]] void abandon();

 private:
  static constinit thread_local BlockRunner* current_;

  [[noreturn]] static void refuse_host();
  static void carry_entry();
  [[noreturn]] void carry(Fiber& self);
  void run_fresh_thread(Fiber& self);
  void on_exit();

  void wait();
  void wait_in_turn();
  void carry_on();
  /// Who goes on next, or null if only a fresh thread can.
  [[nodiscard]] EmulatedThread* next_ready() const {
    return ready_ != nullptr ? ready_ : *released_;
  }
  EmulatedThread* take_ready();
  void push_ready(EmulatedThread& thread);
  void resume(EmulatedThread& thread, Context& left);
  void arrive(const char* name, bool predicate, CallSite site);
  void open_barrier();
  void post(Warp& warp, PendingExchange& pending, const void* input, void* output,
            const Wait& wait);
  // Static, so that its arguments need no stack: it goes on where collective leaves off.
  static void meet(const WarpOperation& operation, std::uint32_t mask, const void* input,
                   void* output, CallSite site);
  void complete(Warp& warp, PendingExchange& pending);
  void complete_and_wait(Warp& warp, PendingExchange& pending);
  bool resolve_convergence();
  void check_waiting(Warp& warp);

  void settle_states();

  void arrange_threads();
  void shuffle_threads();

  // What every barrier of every thread touches comes first, close together.
  EmulatedThread* thread_ = nullptr;
  /// After a barrier has opened: who has not gone on yet, up to a null. It needs no other
  /// bookkeeping, because a barrier opens when every live thread waits in it.
  EmulatedThread* const* released_ = nullptr;
  EmulatedThread* ready_ = nullptr;  ///< released by a warp operation, last of all; goes on first
  Wait barrier_;  ///< of those who wait, as the first of them came; then of the next barrier
  std::uint32_t barrier_missing_ = 0;  ///< threads still to come, 0 when nobody waits
  std::uint32_t barrier_count_ = 0;    ///< those who came with a predicate that is true
  bool inside_ = false;

  const KernelCall* call_ = nullptr;
  TakeTurn take_turn_ = nullptr;
  void* grid_ = nullptr;
  uint3 block_index_ = {};
  std::uint64_t position_ = 0;
  bool has_turn_ = false;
  bool is_first_block_ = false;  ///< of its grid on this worker
  std::size_t stack_shift_ = 0;  ///< of a thread that begins, as the first block has shown

  std::vector<EmulatedThread> threads_;
  std::vector<Wait> waits_;  ///< by rank; of threads in the block's barrier only when it is over
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> warp_order_;
  std::array<std::uint32_t, kWarpSize> lane_order_ = {};
  std::vector<EmulatedThread*> order_;  ///< in starting order, warp after warp; then a null
  std::uint32_t next_fresh_ = 0;
  std::uint32_t live_ = 0;
  EmulatedThread** ready_later_ = nullptr;  ///< above those released before it, and a null
  std::vector<EmulatedThread*> ready_stack_;
  std::vector<Sleeper> sleepers_;           ///< in the order in which they fell asleep
  std::vector<EmulatedThread*> survivors_;  ///< order_ without the threads that have exited
  Fiber* first_entered_ = nullptr;  ///< the last fiber that was taken: tells a new one who it is

  Wait opened_;  ///< the barrier that those in released_ waited in
  bool barrier_diverged_ = false;
  BarrierResult barrier_result_ = {};

  Stack main_stack_;
  Context main_;
  FiberPool fibers_;
  SharedMemory shared_;
  Fault fault_;
};

}  // namespace convlab::emulation
