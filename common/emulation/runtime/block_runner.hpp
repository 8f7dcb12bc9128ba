#pragma once

#include <cstdint>
#include <optional>

#include "common/emulation/runtime/fault.hpp"
#include "common/emulation/runtime/shared_memory.hpp"
#include "common/emulation/runtime/warp_collectives.hpp"

namespace convlab::emulation {

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

  void begin_grid(const KernelCall& call, Grid& grid);
  /// Runs one block to its end. @return false if the kernel failed: fault() tells why
  bool run(uint3 block_index, std::uint64_t position);

  /// Erases what the kernel has left on its stacks and in shared memory; between two grids.
  void forget_words() {
    scheduler_.forget_words();
    shared_.forget_words();
  }

  [[nodiscard]] const Fault& fault() const { return fault_; }
  [[nodiscard]] const KernelCall& call() const { return *call_; }
  [[nodiscard]] uint3 block_index() const { return block_index_; }
  /// Whether abandon() may be called: a block runs, it has not failed, and where to leave it for is
  /// known, which it is not before the first switch.
  [[nodiscard]] bool inside_kernel() const { return inside_; }
  [[nodiscard]] const EmulatedThread& thread() const { return *scheduler_.thread(); }

  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] BlockBarrier& barrier() { return barrier_; }
  [[nodiscard]] WarpCollectives& warps() { return warps_; }
  [[nodiscard]] const WarpCollectives& warps() const { return warps_; }
  [[nodiscard]] SharedMemory& shared_memory() { return shared_; }
  [[nodiscard]] const SharedMemory& shared_memory() const { return shared_; }

  /// Waits until all earlier blocks of the grid are over; only the first call of a block can wait.
  void take_turn();
  /// grid.sync(): a barrier of the block, then of all blocks of a cooperative launch.
  void grid_barrier(CallSite site);

  /// A record with the running thread, to be filled in before abandon(). A signal that comes from
  /// now on finds no kernel. Async-signal-safe.
  Fault& new_fault();
  /// Ends the block with the fault. Async-signal-safe.
  [[noreturn]] void abandon() { scheduler_.leave_for_good(); }

 private:
  static constinit thread_local BlockRunner* current_;

  [[noreturn]] static void refuse_host();
  static void carry_entry();
  [[noreturn]] void carry(Fiber& self);
  void run_thread();

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
  std::uint32_t to_pass_ = 0;    ///< threads that have not left the barrier of the grid yet
  bool is_first_block_ = false;  ///< of its grid on this worker
  std::size_t stack_shift_ = 0;  ///< of a thread that begins, as the first block has shown

  SharedMemory shared_;
  Fault fault_;
};

/// Runs the whole grid and waits for it.
/// @return the failure of the first block that failed, in grid order
std::optional<KernelFailure> run_grid(const KernelCall& call);

}  // namespace convlab::emulation
