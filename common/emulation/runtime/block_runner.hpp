#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/scheduler.hpp"
#include "common/emulation/runtime/shared_memory.hpp"

namespace convlab::emulation {

/// The barrier of a block: it opens when every thread that has not exited waits in it. Threads that
/// wait in different calls make it divergent, which ends the block when the last one arrives.
class BlockBarrier {
 public:
  void begin_block();

  /// Waits until the barrier opens.
  /// @param name  as the student wrote it, for reports: "__syncthreads_or"
  void wait(Scheduler& scheduler, const char* name, bool predicate, CallSite site);
  /// A thread has exited, and counts no more.
  void leave(Scheduler& scheduler);
  /// Of the barrier that the running thread has come out of.
  [[nodiscard]] BarrierResult result() const { return result_; }

  /// Corrects the states of threads for a report: those that a barrier has released keep its state
  /// until they wait again or exit.
  /// @param all_wait  whether even the running thread waits
  void settle_states(Scheduler& scheduler, bool all_wait) const;

 private:
  void arrive(Scheduler& scheduler, const char* name, bool predicate, CallSite site);
  void open(Scheduler& scheduler);

  Wait place_;                 ///< where the threads wait, as the first of them came
  std::uint32_t missing_ = 0;  ///< threads still to come, 0 when nobody waits
  std::uint32_t count_ = 0;    ///< those who came with a predicate that is true
  bool diverged_ = false;
  Wait opened_;  ///< the place of the last barrier that opened
  BarrierResult result_ = {};
};

[[gnu::always_inline]] inline void BlockBarrier::wait(Scheduler& scheduler, const char* name,
                                                      bool predicate, CallSite site) {
  scheduler.thread()->state = EmulatedThread::State::kAtBarrier;
  // The usual case: one of many threads that come here one after the other.
  if (missing_ > 1 && site == place_.site && scheduler.next_released() != nullptr) [[likely]] {
    --missing_;
    count_ += predicate ? 1 : 0;
    scheduler.hand_to_released();
  } else {
    arrive(scheduler, name, predicate, site);
  }
}

inline void BlockBarrier::leave(Scheduler& scheduler) {
  if (missing_ != 0 && --missing_ == 0) open(scheduler);
}

/// Where the lanes of each warp of a block meet: shuffles, votes, matrix products. Lanes post what
/// they hand in; the last one computes the results of all.
class WarpCollectives {
 public:
  void begin_grid(std::uint32_t threads);
  void begin_block();

  /// Hands the calling lane's operands in, and waits until the operation is done.
  void collective(Scheduler& scheduler, const WarpOperation& operation, std::uint32_t mask,
                  const void* input, void* output, CallSite site);
  /// Waits until no lane of the block can go on. @return the lanes that wait at `site` together
  std::uint32_t converge(Scheduler& scheduler, CallSite site);
  /// To be called when no thread can run: lets the lanes of one warp that wait in the same
  /// converge() go on. @return false if there are none
  bool resolve_convergence(Scheduler& scheduler);
  /// The thread has exited: operations no longer wait for it.
  void leave(Scheduler& scheduler, const EmulatedThread& thread);

  /// The lanes that have not exited, of the warp with this first thread.
  [[nodiscard]] std::uint32_t live_lanes(std::uint32_t first_rank) const {
    return warps_[first_rank / kWarpSize].live;
  }
  /// The mask of the operation that the thread waits in.
  [[nodiscard]] std::uint32_t awaited_lanes(const EmulatedThread& thread) const;

 private:
  /// An operation for which some lanes have arrived.
  struct Pending {
    WarpOperation operation;
    WarpExchange exchange;
  };
  struct Warp {
    std::uint32_t live = 0;
    std::uint32_t converged = 0;  ///< what the lanes that go on together get from converge()
    std::vector<Pending> pending;
  };

  void post(Scheduler& scheduler, Warp& warp, Pending& pending, const void* input, void* output,
            const Wait& wait);
  // The slow path of collective(). Static: with `this` its arguments would not fit into registers.
  static void meet(const WarpOperation& operation, std::uint32_t mask, const void* input,
                   void* output, CallSite site);
  void complete(Scheduler& scheduler, Warp& warp, Pending& pending);
  void complete_and_wait(Scheduler& scheduler, Warp& warp, Pending& pending);

  std::vector<Warp> warps_;
  std::uint32_t threads_ = 0;
};

[[gnu::always_inline]] inline void WarpCollectives::post(Scheduler& scheduler, Warp& warp,
                                                         Pending& pending, const void* input,
                                                         void* output, const Wait& wait) {
  EmulatedThread& thread = *scheduler.thread();
  scheduler.wait_of(thread) = wait;
  const std::uint32_t lane = thread.rank % kWarpSize;
  thread.state = EmulatedThread::State::kInWarp;
  WarpExchange& exchange = pending.exchange;
  exchange.present |= 1U << lane;
  exchange.inputs[lane] = input;
  exchange.outputs[lane] = output;
  if (exchange.present == (exchange.mask & warp.live)) [[unlikely]]
    complete_and_wait(scheduler, warp, pending);
  else
    scheduler.wait();
}

// Only the usual case is in collective itself, and all its values stay in registers: every lane
// would touch a stack frame.
[[gnu::always_inline]] inline void WarpCollectives::collective(Scheduler& scheduler,
                                                               const WarpOperation& operation,
                                                               std::uint32_t mask,
                                                               const void* input, void* output,
                                                               CallSite site) {
  const std::uint32_t rank = scheduler.thread()->rank;
  Warp& warp = warps_[rank / kWarpSize];
  const bool usual = ((mask >> (rank % kWarpSize)) & 1U) != 0 && !warp.pending.empty() &&
                     warp.pending.front().exchange.mask == mask &&
                     warp.pending.front().operation == operation;
  if (usual) [[likely]]
    post(scheduler, warp, warp.pending.front(), input, output, {operation.name, site});
  else
    meet(operation, mask, input, output, site);
}

/// Runs blocks one after the other on the calling worker, from their first thread to their last.
class BlockRunner {
 public:
  /// What a block asks of its grid.
  struct Grid {
    virtual ~Grid() = default;
    /// Lets a block wait until all blocks before it are over; false if the grid was cancelled.
    virtual bool take_turn(std::uint64_t position) = 0;
    enum class Met { kAll, kCancelled, kSomeEnded };
    /// Waits until every block of the grid is here; then the block has a later position.
    virtual Met meet_all(std::uint64_t& position) = 0;
    /// The block waits for what another one does: all others go before it, also those that have not
    /// begun. @return kSomeEnded if there are none
    virtual Met give_way(std::uint64_t& position) = 0;
  };

  BlockRunner();

  /// The runner of the calling worker, or null on a thread of the host.
  static BlockRunner* current() { return current_; }
  /// The same for code that only a kernel may call. @throws convlab::UsageError on the host
  static BlockRunner& of_kernel() {
    if (current_ == nullptr || !current_->inside_) [[unlikely]]
      refuse_host();
    return *current_;
  }

  /// From now on the calling thread runs the blocks, until unbind_thread().
  void bind_to_thread();
  static void unbind_thread() { current_ = nullptr; }

  void begin_grid(const KernelCall& call, Grid& grid);
  /// Runs one block to its end. @return false if the kernel failed: fault() tells why
  bool run(uint3 block_index, std::uint64_t position);

  [[nodiscard]] const Fault& fault() const { return fault_; }
  [[nodiscard]] const KernelCall& call() const { return *call_; }
  [[nodiscard]] uint3 block_index() const { return block_index_; }
  /// Whether abandon() may be called: a block runs and has not failed.
  [[nodiscard]] bool inside_kernel() const { return inside_; }
  [[nodiscard]] const EmulatedThread& thread() const { return *scheduler_.thread(); }

  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] BlockBarrier& barrier() { return barrier_; }
  [[nodiscard]] WarpCollectives& warps() { return warps_; }
  [[nodiscard]] SharedMemory& shared_memory() { return shared_; }

  /// Waits until all earlier blocks of the grid are over; only the first call of a block can wait.
  void take_turn();
  /// The running thread looks at a word that another thread may change. If it finds it unchanged
  /// again and again, the others go on before it. @return whether they have
  bool poll(const void* address, std::size_t bytes, const void* caller);
  /// grid.sync(): a barrier of the block, then of all blocks of a cooperative launch.
  void grid_barrier(CallSite site);

  /// A record with the running thread, to be filled in before abandon(). A signal that comes from
  /// now on finds no kernel. Async-signal-safe.
  Fault& new_fault(FaultKind kind = FaultKind::kDeviceMemory,
                   KernelFault error = KernelFault::kIllegalAddress);
  /// The running thread has computed what its type cannot hold.
  void note_overflow(EmulationReport report) {
    report.fault.thread = array_of(thread().index);
    overflow_ = std::move(report);
  }
  /// The last one of the thread that fault() names.
  [[nodiscard]] std::optional<EmulationReport> overflow() const {
    const bool is_its =
        overflow_ && fault_.has_thread && overflow_->fault.thread == array_of(fault_.thread);
    return is_its ? overflow_ : std::nullopt;
  }
  /// Ends the block with the fault. Async-signal-safe.
  [[noreturn]] void abandon() { scheduler_.leave_for_good(); }

 private:
  static constinit thread_local BlockRunner* current_;

  [[noreturn]] static void refuse_host();
  static void carry_entry();
  [[noreturn]] void carry(Fiber& self);
  void run_thread();
  /// No thread can go on but those that wait for a word to change.
  void wake_polling();
  void abandon_if_cancelled(Grid::Met met);

  /// What a thread looks at, and how often it has found the same there.
  struct Poll {
    const void* address = nullptr;
    std::uint64_t bits = 0;
    unsigned times = 0;
  };

  // What every barrier and shuffle of every thread touches comes first.
  Scheduler scheduler_;
  BlockBarrier barrier_;
  WarpCollectives warps_;
  bool inside_ = false;

  const KernelCall* call_ = nullptr;
  Grid* grid_ = nullptr;
  uint3 block_index_ = {};
  std::uint64_t position_ = 0;
  bool has_turn_ = false;
  std::uint32_t to_pass_ = 0;  ///< threads that have not left the barrier of the grid yet
  std::vector<Poll> polls_;    ///< by rank; none until a thread of the block polls
  bool polls_change_ = false;  ///< since those that wait have looked last
  bool is_alone_ = false;      ///< since then no other block has run
  bool host_may_change_ = false;
  const void* polls_at_ = nullptr;  ///< the place of one that waits

  SharedMemory shared_;
  Fault fault_;
  std::optional<EmulationReport> overflow_;
};

/// How many blocks of this size the device holds at the same time.
std::uint64_t blocks_at_once(const KernelCall& call);

/// Runs the whole grid and waits for it.
/// @return the failure of the first block that failed, in grid order
std::optional<EmulationReport> run_grid(const KernelCall& call);

}  // namespace convlab::emulation
