#include "common/emulation/runtime/grid_runner.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_model.hpp"
#include "common/emulation/runtime/random.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/signals.hpp"

namespace convlab::emulation {
namespace {

// Every stack takes two entries of the kernel's table of mappings, of which a process has 65 530.
constexpr unsigned kMostWorkers = 24;

}  // namespace

GridRunner& GridRunner::instance() {
  // Never destroyed: its threads live as long as the process.
  static auto* const runner = new GridRunner;
  return *runner;
}

GridRunner::GridRunner() {
  unsigned count = static_cast<unsigned>(settings().workers);
  if (count == 0) count = std::clamp(std::thread::hardware_concurrency(), 1U, kMostWorkers);
  for (unsigned i = 0; i < count; ++i) {
    Worker& worker = workers_.emplace_back();
    worker.thread = std::thread([this, &worker] { work(worker); });
  }
}

void GridRunner::work(Worker& self) {
  prepare_worker_for_signals();
  BlockRunner runner;
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
    }
    run_blocks(runner, self);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void GridRunner::run_blocks(BlockRunner& runner, Worker& self) {
  const auto turn = [](void* grid, std::uint64_t position) {
    return static_cast<const GridRunner*>(grid)->wait_for_turn(position);
  };
  runner.begin_grid(*call_, turn, this);
  while (!cancelled_.load()) {
    // First a bound, so that nobody takes this worker for further on than it is.
    self.position.store(next_.load());
    const std::uint64_t position = next_.fetch_add(1);
    self.position.store(position);
    if (position >= blocks_) break;
    if (!runner.run(block_at(position), position)) record(runner, position);
  }
  self.position.store(UINT64_MAX);
}

/// Blocks begin in order, so each block before a failing one has begun and will be heard of.
void GridRunner::record(const BlockRunner& runner, std::uint64_t position) {
  cancelled_.store(true);
  if (runner.fault().kind == Fault::Kind::kCancelled) return;
  const std::lock_guard lock(mutex_);
  if (failure_ && failure_position_ < position) return;
  failure_position_ = position;
  failure_ = KernelFailure{runner.fault().error, describe_fault(runner)};
}

uint3 GridRunner::block_at(std::uint64_t position) const {
  // The product needs 128 bits only for more blocks than anybody can wait for.
  const std::uint64_t linear = (first_ + position * step_) % blocks_;
  const dim3& grid = call_->grid;
  return {static_cast<unsigned>(linear % grid.x), static_cast<unsigned>(linear / grid.x % grid.y),
          static_cast<unsigned>(linear / grid.x / grid.y)};
}

void GridRunner::arrange_blocks() {
  step_ = 1;
  first_ = 0;
  if (settings().order == Order::kReverse) {
    step_ = blocks_ - 1;
    first_ = blocks_ - 1;
  } else if (settings().order == Order::kShuffle) {
    // A step without a common divisor visits every block once; below 2^32 the product fits.
    Random random(settings().seed, grids_run_);
    first_ = random.below(blocks_);
    do {
      step_ = 1 + random.below(std::min<std::uint64_t>(blocks_, 0xffffffffU));
    } while (std::gcd(step_, blocks_) != 1);
  }
}

bool GridRunner::wait_for_turn(std::uint64_t position) const {
  const auto behind = [&](const Worker& worker) { return worker.position.load() < position; };
  while (std::any_of(workers_.begin(), workers_.end(), behind)) {
    if (cancelled_.load()) return false;
    std::this_thread::yield();
  }
  return true;
}

std::optional<KernelFailure> GridRunner::run(const KernelCall& call) {
  const std::lock_guard one_grid(launch_mutex_);
  install_signal_handlers();
  std::unique_lock lock(mutex_);
  call_ = &call;
  blocks_ = std::uint64_t{call.grid.x} * call.grid.y * call.grid.z;
  arrange_blocks();
  ++grids_run_;
  next_.store(0);
  cancelled_.store(false);
  failure_.reset();
  for (Worker& worker : workers_) worker.position.store(0);
  busy_ = workers_.size();
  ++generation_;
  start_.notify_all();
  wait_for_workers(lock);
  return failure_;
}

void GridRunner::wait_for_workers(std::unique_lock<std::mutex>& lock) {
  const auto finished = [&] { return busy_ == 0; };
  const double limit = settings().timeout_seconds;
  if (limit == 0) {
    done_.wait(lock, finished);
    return;
  }
  if (done_.wait_for(lock, std::chrono::duration<double>(limit), finished)) return;
  cancelled_.store(true);
  // A signal that meets a worker between two blocks has no effect; the next one will.
  do {
    for (Worker& worker : workers_)
      if (worker.position.load() != UINT64_MAX)
        pthread_kill(worker.thread.native_handle(), timeout_signal());
  } while (!done_.wait_for(lock, std::chrono::milliseconds(50), finished));
}

}  // namespace convlab::emulation
