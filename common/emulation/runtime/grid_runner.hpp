#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/fault.hpp"

namespace convlab::emulation {

/// Runs grids: the blocks, in order, over one worker per core. A block stays on its worker. The
/// blocks of a cooperative launch wait for each other, so each has a worker of its own. Never
/// destroyed (only<GridRunner>()): its threads live as long as the process.
class GridRunner {
 public:
  GridRunner();

  /// Runs the whole grid and waits for it.
  /// @return the failure of the first block that failed, in grid order
  std::optional<KernelFailure> run(const KernelCall& call);

 private:
  struct alignas(64) Worker : BlockRunner::Grid {
    Worker(GridRunner& grid_runner, std::size_t number) : runner(grid_runner), index(number) {}

    GridRunner& runner;
    std::size_t index;
    std::thread thread;
    /// No block before this position is running on this worker or will be begun by it.
    std::atomic<std::uint64_t> position{UINT64_MAX};

    void move_to(std::uint64_t next) {
      position.store(next);
      position.notify_all();  // workers that wait for their turn
    }
    bool take_turn(std::uint64_t at) override { return runner.wait_for_turn(at); }
    Met meet_all(std::uint64_t& at) override { return runner.meet_all(*this, at); }
  };

  bool add_worker();
  void work(Worker& self, std::promise<bool> started);
  void run_blocks(BlockRunner& runner, Worker& self);
  void record(const BlockRunner& runner, std::uint64_t position);
  BlockRunner::Grid::Met meet_all(Worker& self, std::uint64_t& position);
  /// A block has ended: the others must not wait for it for ever.
  void leave_grid();
  void cancel();
  [[nodiscard]] uint3 block_at(std::uint64_t position) const;
  bool wait_for_turn(std::uint64_t position) const;
  void arrange_blocks();
  bool finishes_within(std::chrono::duration<double> limit, std::unique_lock<std::mutex>& lock);
  void wait_for_workers(std::unique_lock<std::mutex>& lock);

  std::mutex launch_mutex_;  ///< one grid at a time
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable start_more_;  ///< for workers beyond one per core
  std::condition_variable done_;
  std::deque<Worker> workers_;
  std::size_t usual_ = 0;   ///< workers of a launch that is not cooperative
  std::size_t active_ = 0;  ///< workers of the grid that runs
  std::uint64_t generation_ = 0;
  std::size_t busy_ = 0;

  // The grid that runs.
  const KernelCall* call_ = nullptr;
  std::uint64_t blocks_ = 0;
  std::uint64_t step_ = 1;  ///< position p runs block (first + p * step) mod blocks
  std::uint64_t first_ = 0;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> cancelled_{false};
  std::optional<KernelFailure> failure_;
  std::uint64_t failure_position_ = 0;
  std::uint64_t grids_run_ = 0;

  // The barrier of a cooperative grid.
  std::mutex meeting_mutex_;
  std::condition_variable meeting_;
  std::uint64_t met_ = 0;       ///< blocks that wait
  std::uint64_t ended_ = 0;     ///< blocks that have ended
  std::uint64_t meetings_ = 0;  ///< how often all have met
};

}  // namespace convlab::emulation
