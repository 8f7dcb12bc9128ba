#include "common/emulation/runtime/grid_runner.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <system_error>
#include <utility>

#include "common/base/error.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/device_model.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/random.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/uncaught.hpp"

namespace convlab::emulation {
namespace {

// Each stack takes two memory mappings; Linux allows a process 65 530 by default.
constexpr unsigned kMostWorkers = 24;

// How long a kernel may stay in a library function after its time limit.
constexpr std::chrono::seconds kLibraryPatience(10);

using Seconds = std::chrono::duration<double>;

// Of all threads of this process.
Seconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

GridRunner::GridRunner() {
  unsigned count = static_cast<unsigned>(settings().workers);
  if (observer != nullptr) count = 1;  // it sees one thread after the other
  if (count == 0) count = std::clamp(std::thread::hardware_concurrency(), 1U, kMostWorkers);
  while (workers_.size() < count && add_worker()) {
  }
  {
    const std::lock_guard lock(mutex_);
    usual_ = workers_.size();
  }
  if (workers_.empty()) {
    const TellUncaughtErrors tell;
    throw EnvironmentError(
        "The machine has no room for a thread that runs kernels: too little memory or address "
        "space (ulimit -v), or too many threads (ulimit -u).");
  }
  pthread_atfork(nullptr, nullptr, lose_device_by_fork);
}

/// @return false, without a new worker, if the machine has no room for it
bool GridRunner::add_worker() {
  Worker& worker = workers_.emplace_back(*this, workers_.size());
  std::promise<bool> started;
  std::future<bool> has_started = started.get_future();
  try {
    worker.thread = std::thread([this, &worker, promise = std::move(started)]() mutable {
      work(worker, std::move(promise));
    });
  } catch (const std::system_error&) {
    workers_.pop_back();
    return false;
  }
  if (has_started.get()) return true;
  worker.thread.join();
  workers_.pop_back();
  return false;
}

void GridRunner::work(Worker& self, std::promise<bool> started) {
  std::optional<BlockRunner> room;
  try {
    prepare_worker_for_signals();
    room.emplace();
  } catch (const std::bad_alloc&) {
    started.set_value(false);
    return;
  }
  BlockRunner& runner = *room;
  started.set_value(true);
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      (self.index < usual_ || usual_ == 0 ? start_ : start_more_).wait(lock, [&] {
        return generation_ != seen && self.index < active_;
      });
      seen = generation_;
    }
    run_blocks(runner, self);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void GridRunner::run_blocks(BlockRunner& runner, Worker& self) {
  runner.begin_grid(*call_, self);
  while (!cancelled_.load()) {
    // A lower bound first: others must not think that this worker is past its next block.
    self.position.store(next_.load());
    const std::uint64_t position = next_.fetch_add(1);
    self.move_to(position);
    if (position >= blocks_) break;
    if (!runner.run(block_at(position), position)) record(runner, position);
    if (call_->cooperative) leave_grid();
  }
  self.move_to(UINT64_MAX);
}

void GridRunner::cancel() {
  cancelled_.store(true);
  // Nobody may look before and wait after.
  const std::lock_guard lock(meeting_mutex_);
  meeting_.notify_all();
}

void GridRunner::leave_grid() {
  const std::lock_guard lock(meeting_mutex_);
  ++ended_;
  meeting_.notify_all();
}

BlockRunner::Grid::Met GridRunner::meet_all(Worker& self, std::uint64_t& position) {
  using Met = BlockRunner::Grid::Met;
  // Whoever waits for this block's turn to be over need not wait any longer.
  position += blocks_;
  self.move_to(position);
  std::unique_lock lock(meeting_mutex_);
  const std::uint64_t meeting = meetings_;
  if (++met_ == blocks_) {
    met_ = 0;
    ++meetings_;
    meeting_.notify_all();
  }
  meeting_.wait(lock, [&] {
    return meetings_ != meeting || cancelled_.load() || (ended_ > 0 && met_ + ended_ == blocks_);
  });
  if (meetings_ != meeting) return Met::kAll;
  return cancelled_.load() ? Met::kCancelled : Met::kSomeEnded;
}

/// Blocks begin in order: every block before a failing one has begun, and will report, too.
void GridRunner::record(const BlockRunner& runner, std::uint64_t position) {
  cancel();
  if (runner.fault().state == Fault::State::kCancelled) return;
  const std::lock_guard lock(mutex_);
  if (failure_ && failure_position_ < position) return;
  failure_position_ = position;
  failure_ = KernelFailure{runner.fault().error, describe_fault(runner)};
  if (runner.fault().kind == EmulationFault::kTimeLimit)
    failure_->report.text += "\n  " + std::to_string(std::min(next_.load(), blocks_)) + " of " +
                             std::to_string(blocks_) + " blocks of the grid had begun";
}

uint3 GridRunner::block_at(std::uint64_t position) const {
  // The product fits into 64 bits for every grid that ends within years.
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
    // A step that is coprime to the number of blocks visits each once. Below 2^32 no overflow.
    Random random(settings().seed, grids_run_);
    first_ = random.below(blocks_);
    do {
      step_ = 1 + random.below(std::min<std::uint64_t>(blocks_, 0xffffffffU));
    } while (std::gcd(step_, blocks_) != 1);
  }
}

bool GridRunner::wait_for_turn(std::uint64_t position) const {
  for (const Worker& worker : workers_) {
    // A worker that is cancelled moves to the end, too.
    for (auto at = worker.position.load(); at < position; at = worker.position.load()) {
      if (cancelled_.load()) return false;
      worker.position.wait(at);
    }
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
  active_ = usual_;
  met_ = ended_ = 0;
  if (call.cooperative) {
    lock.unlock();  // a new worker takes it
    while (workers_.size() < blocks_ && add_worker()) {
    }
    lock.lock();
    if (workers_.size() < blocks_) {
      const std::string text = "the machine has no room for the " + std::to_string(blocks_) +
                               " blocks of a cooperative launch, each with a thread of its own";
      return KernelFailure{KernelFault::kInvalidValue, {.what = text, .text = text}};
    }
    active_ = std::max<std::size_t>(usual_, blocks_);
  }
  ++grids_run_;
  if (observer != nullptr) observer->begin_grid(call);
  next_.store(0);
  cancelled_.store(false);
  failure_.reset();
  // Those that sleep are past every block.
  for (Worker& worker : workers_) worker.position.store(worker.index < active_ ? 0 : UINT64_MAX);
  busy_ = active_;
  ++generation_;
  start_.notify_all();
  if (active_ > usual_) start_more_.notify_all();
  wait_for_workers(lock);
  return failure_;
}

// On a busy machine the workers get a part of their processors' time, and the limit counts that
// part: whether a kernel passes must not depend on what else runs. Three times the limit end a
// kernel that waits without computing.
bool GridRunner::finishes_within(Seconds limit, std::unique_lock<std::mutex>& lock) {
  constexpr double kMost = 3.0;
  constexpr double kBusy = 0.05;  // of a processor
  constexpr std::chrono::milliseconds kLook(100);
  const auto start = std::chrono::steady_clock::now();
  const auto computed = processor_time();
  Seconds wait = limit;
  while (!done_.wait_for(lock, wait, [&] { return busy_ == 0; })) {
    const auto processors = std::min<std::size_t>(busy_, std::thread::hardware_concurrency());
    constexpr double kNearly = 0.9;  // the system takes some of each processor
    const Seconds due = kNearly * static_cast<double>(processors) * limit;
    const Seconds used = processor_time() - computed;
    const Seconds passed = std::chrono::steady_clock::now() - start;
    if (used >= due || (passed >= kMost * limit && used < kBusy * passed)) return false;
    wait = std::min<Seconds>(kLook, limit);
  }
  return true;
}

void GridRunner::wait_for_workers(std::unique_lock<std::mutex>& lock) {
  const auto finished = [&] { return busy_ == 0; };
  const double limit = kernel_time_limit();
  if (limit == 0) {
    done_.wait(lock, finished);
    return;
  }
  if (finishes_within(Seconds(limit), lock)) return;
  cancel();
  // Often, so that one signal arrives between two calls of a kernel that prints endlessly.
  const auto patience = std::chrono::steady_clock::now() + kLibraryPatience;
  do {
    const bool even_in_library = std::chrono::steady_clock::now() > patience;
    for (Worker& worker : workers_)
      if (worker.position.load() != UINT64_MAX) interrupt_kernel(worker.thread, even_in_library);
  } while (!done_.wait_for(lock, std::chrono::milliseconds(1), finished));
  const std::uint64_t begun = next_.load();
  if (!failure_ && begun < blocks_)
    failure_ =
        KernelFailure{KernelFault::kLaunchTimeout, describe_time_limit(*call_, begun, blocks_)};
}

}  // namespace convlab::emulation
