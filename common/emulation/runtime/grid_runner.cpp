// Runs grids.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <deque>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/error.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/host_sleeps.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/signals.hpp"

namespace convlab::emulation {
namespace {

// Each stack takes two memory mappings; Linux allows a process 65 530 by default.
constexpr unsigned kMostWorkers = 24;

// Asked once, before a process is copied.
const unsigned processors_here = std::thread::hardware_concurrency();

// How long a kernel may stay in a library function after its time limit.
constexpr std::chrono::seconds kLibraryPatience(10);

using Seconds = std::chrono::duration<double>;

// How often the watcher looks at the grid that runs.
constexpr Seconds kLook(0.1);
// To wake a thread takes 5 to 50 µs: so long the launching thread works alone, unless the grid has
// so many threads that it takes longer in any case.
constexpr std::chrono::microseconds kAlone(50);
constexpr std::uint64_t kManyThreads = 8192;
// Blocks of a grid of which only samples run.
constexpr std::uint64_t kSamples = 64;
// Of a block that waits for another one.
constexpr std::chrono::microseconds kPause(50);

// Of all threads of this process.
Seconds processor_time() {
  return Seconds(static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}

/// The blocks, in order, over one worker per core. The thread that launches is the first of them:
/// a small grid wakes nobody. A block stays on its worker. The blocks of a cooperative launch wait
/// for each other, so each has a worker of its own. Never destroyed: its threads live as long as
/// the process.
class GridRunner {
 public:
  GridRunner() {
    auto count = static_cast<unsigned>(settings().workers);
    if (observer != nullptr) count = 1;  // it sees one thread after the other
    if (count == 0) count = std::clamp(processors_here, 1U, kMostWorkers);
    usual_ = count;
    workers_.emplace_back(*this);
    try {
      launching_.emplace();
    } catch (const std::bad_alloc&) {
      throw EnvironmentError(
          "The machine has no room for a thread that runs kernels: too little memory or address "
          "space (ulimit -v).");
    }
  }

  std::optional<EmulationReport> run(const KernelCall& call) {
    const std::lock_guard one_grid(launch_mutex_);
    install_signal_handlers();
    prepare_thread_for_signals();
    blocks_ = all_blocks_ = std::uint64_t{call.grid.x} * call.grid.y * call.grid.z;
    if (settings().work == Work::kSamples && !call.cooperative)
      blocks_ = std::min(blocks_, kSamples);
    const std::uint64_t wanted = call.cooperative ? blocks_ : std::min(usual_, blocks_);
    while (call.cooperative && workers_.size() < wanted) {
      if (add_worker()) continue;
      const std::string text = "the machine has no room for the " + std::to_string(blocks_) +
                               " blocks of a cooperative launch, each with a thread of its own";
      return EmulationReport{.error = KernelFault::kInvalidValue, .what = text, .text = text};
    }
    if (observer != nullptr) observer->begin_grid(call);
    call_ = &call;
    met_ = ended_ = 0;
    next_.store(0);
    cancelled_.store(false);
    failure_.reset();
    is_slow_ = is_full_ = false;
    helpers_wanted_.store(wanted - 1);
    {
      const std::lock_guard lock(mutex_);
      busy_ = 1;
      ++grids_;
      limit_ = Seconds(settings().timeout_seconds);
      if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
      if (std::exchange(watcher_sleeps_, false)) look_.notify_one();
      const std::uint64_t threads = blocks_ * call.block.x * call.block.y * call.block.z;
      if (call.cooperative || threads > kManyThreads) call_helpers();
    }
    begun_ = std::chrono::steady_clock::now();
    launching_->bind_to_thread();
    workers_.front().thread = ::gettid();
    run_blocks(*launching_, workers_.front());
    BlockRunner::unbind_thread();
    std::unique_lock lock(mutex_);
    helpers_wanted_.store(0);
    seats_ = 0;
    --busy_;
    done_.wait(lock, [&] { return busy_ == 0; });
    if (is_watched_) done_.notify_all();
    return failure_;
  }

 private:
  struct alignas(64) Worker : BlockRunner::Grid {
    explicit Worker(GridRunner& grid_runner) : runner(grid_runner) {}

    GridRunner& runner;
    pid_t thread = 0;
    std::unique_lock<std::mutex> alone;  ///< held while it runs a block that is observed
    /// No block before this position is running on this worker or will be begun by it.
    std::atomic<std::uint64_t> position{UINT64_MAX};

    void move_to(std::uint64_t next) {
      position.store(next);
      position.notify_all();  // workers that wait for their turn
    }
    /// Others may run observed blocks while this worker waits.
    template <typename Wait>
    auto let_others_run(Wait wait) {
      if (!alone.owns_lock()) return wait();
      alone.unlock();
      const auto result = wait();
      alone.lock();
      observer->resume_block();
      return result;
    }
    bool take_turn(std::uint64_t at) override {
      return let_others_run([&] { return runner.wait_for_turn(at); });
    }
    Met meet_all(std::uint64_t& at) override {
      return let_others_run([&] { return runner.meet_all(*this, at); });
    }
    Met give_way(std::uint64_t& at) override {
      return let_others_run([&] { return runner.give_way(*this, at); });
    }
  };

  /// @return false, without a new worker, if the machine has no room for it
  bool add_worker() {
    Worker& worker = workers_.emplace_back(*this);
    std::promise<bool> started;
    std::future<bool> has_started = started.get_future();
    std::thread thread;
    try {
      thread = std::thread([this, &worker, promise = std::move(started)]() mutable {
        work(worker, std::move(promise));
      });
    } catch (const std::system_error&) {
      workers_.pop_back();
      return false;
    }
    if (has_started.get()) {
      thread.detach();
      return true;
    }
    thread.join();
    workers_.pop_back();
    return false;
  }

  void work(Worker& self, std::promise<bool> started) {
    std::optional<BlockRunner> room;
    try {
      prepare_thread_for_signals();
      note_worker();
      room.emplace();
    } catch (const std::bad_alloc&) {
      started.set_value(false);
      return;
    }
    room->bind_to_thread();
    self.thread = ::gettid();
    started.set_value(true);
    std::unique_lock lock(mutex_);
    for (;;) {
      start_.wait(lock, [&] { return seats_ > 0; });
      --seats_;
      ++busy_;
      lock.unlock();
      run_blocks(*room, self);
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  /// Wakes the workers that the grid is still to get, or as many as the machine has room for; the
  /// mutex is held.
  void call_helpers() {
    for (std::uint64_t wanted = helpers_wanted_.exchange(0); wanted > 0; --wanted) {
      if (busy_ + seats_ >= workers_.size() && !add_worker()) return;
      ++seats_;  // beside those that were called and have not come yet
      start_.notify_one();
    }
  }

  void run_blocks(BlockRunner& runner, Worker& self) {
    if (observer != nullptr) self.alone = std::unique_lock(observed_);
    const DeviceRights rights;
    runner.begin_grid(*call_, self);
    while (!cancelled_.load()) {
      // A grid that takes less time than waking others is done alone.
      if (helpers_wanted_.load(std::memory_order_relaxed) != 0 &&
          std::chrono::steady_clock::now() - begun_ > kAlone) {
        const std::lock_guard lock(mutex_);
        call_helpers();
      }
      // A lower bound first: others must not think that this worker is past its next block.
      self.position.store(next_.load());
      const std::uint64_t position = next_.fetch_add(1);
      self.move_to(position);
      if (position >= blocks_) break;
      if (!runner.run(block_at(position), position)) {
        rights.renew();  // a handler of a signal has taken them, and has not come back
        record(runner, position);
      }
      if (call_->cooperative) leave_grid();
    }
    self.alone = {};
    self.move_to(UINT64_MAX);
  }

  /// Blocks begin in order: every block before a failing one has begun, and will report, too.
  void record(BlockRunner& runner, std::uint64_t position) {
    cancel();
    if (runner.fault().state == Fault::State::kCancelled) return;
    const std::lock_guard lock(mutex_);
    if (failure_ && failure_position_ < position) return;
    failure_position_ = position;
    failure_ = describe_fault(runner);
    if (runner.fault().kind == FaultKind::kKernelTime)
      tell_blocks(*failure_, std::min(next_.load(), blocks_), blocks_, is_slow_);
  }

  BlockRunner::Grid::Met meet_all(Worker& self, std::uint64_t& position) {
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

  // If some block waits for one that has not begun, a further worker begins that, as long as the
  // device has room for both.
  BlockRunner::Grid::Met give_way(Worker& self, std::uint64_t& position) {
    using Met = BlockRunner::Grid::Met;
    const bool is_new = position < blocks_;
    self.move_to(position += blocks_);
    {
      const std::lock_guard lock(mutex_);
      call_helpers();
      if (is_new && next_.load() < blocks_) {
        is_full_ = busy_ + seats_ >= blocks_at_once(*call_) ||
                   (busy_ + seats_ >= workers_.size() && !add_worker());
        if (!is_full_) {
          ++seats_;
          start_.notify_one();
        }
      }
      if (busy_ + seats_ == 1 && next_.load() >= blocks_) return Met::kSomeEnded;
    }
    std::this_thread::sleep_for(kPause);
    return cancelled_.load() ? Met::kCancelled : Met::kAll;
  }

  /// A block has ended: the others must not wait for it for ever.
  void leave_grid() {
    const std::lock_guard lock(meeting_mutex_);
    ++ended_;
    meeting_.notify_all();
  }

  void cancel() {
    cancelled_.store(true);
    // Nobody may look before and wait after.
    const std::lock_guard lock(meeting_mutex_);
    meeting_.notify_all();
  }

  [[nodiscard]] uint3 block_at(std::uint64_t position) const {
    std::uint64_t linear = settings().reverses ? blocks_ - 1 - position : position;
    if (blocks_ < all_blocks_)
      linear = linear + 1 == blocks_ ? all_blocks_ - 1 : all_blocks_ / blocks_ * linear;
    const dim3& grid = call_->grid;
    return {static_cast<unsigned>(linear % grid.x), static_cast<unsigned>(linear / grid.x % grid.y),
            static_cast<unsigned>(linear / grid.x / grid.y)};
  }

  bool wait_for_turn(std::uint64_t position) {
    // Who has given way comes after all that have not begun.
    while (position >= blocks_ && next_.load() < blocks_ && !cancelled_.load())
      std::this_thread::sleep_for(kPause);
    for (std::size_t i = 0; const Worker* const worker = worker_at(i); ++i) {
      // A worker that is cancelled moves to the end, too.
      for (auto at = worker->position.load(); at < position; at = worker->position.load()) {
        if (cancelled_.load()) return false;
        worker->position.wait(at);
      }
    }
    return true;
  }

  /// Null behind the last one; another block may add one meanwhile.
  const Worker* worker_at(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return index < workers_.size() ? &workers_[index] : nullptr;
  }

  // On a busy machine the workers get a part of their processors' time, and the limit counts that
  // part: whether a kernel passes must not depend on what else runs. Three times the limit end a
  // kernel that waits without computing. A kernel whose blocks still begin in the second half of
  // its time is slow; one that begins no more of them hangs in a loop.
  bool finishes_within(Seconds limit, std::unique_lock<std::mutex>& lock) {
    const auto is_over = [this, grid = grids_] { return busy_ == 0 || grids_ != grid; };
    constexpr double kMost = 3.0;
    constexpr double kIdle = 0.005;  // of a processor: less than one of two hundred programs gets
    constexpr double kNearly = 0.9;  // the system takes some of each processor
    const auto start = std::chrono::steady_clock::now();
    Seconds computed = processor_time();
    Seconds used{};  // by each worker that has blocks
    std::uint64_t begun_at_half = blocks_;
    while (!done_.wait_for(lock, std::min(kLook, limit), is_over)) {
      const auto processors = std::min<std::size_t>(busy_, processors_here);
      const Seconds now = processor_time();
      used += (now - computed) / static_cast<double>(processors);
      computed = now;
      const Seconds passed = std::chrono::steady_clock::now() - start;
      if (used < kNearly * limit / 2) begun_at_half = next_.load();
      if (used >= kNearly * limit || (passed >= kMost * limit && used < kIdle * passed)) {
        is_slow_ = next_.load() > begun_at_half && next_.load() < blocks_ && !is_full_;
        return false;
      }
    }
    return true;
  }

  /// Looks at the grid that runs, now and then: an alarm for each would be a system call.
  void watch() {
    note_worker();
    constexpr int kIdleLooks = 20;
    std::unique_lock lock(mutex_);
    std::uint64_t seen = 0;
    for (int idle = 0;; ++idle) {
      if (idle == kIdleLooks) {
        watcher_sleeps_ = true;
        look_.wait(lock, [&] { return !watcher_sleeps_; });
        idle = 0;
      }
      const Seconds period = limit_.count() > 0 ? std::min(kLook, limit_ / 4) : kLook;
      look_.wait_for(lock, period);
      if (std::exchange(seen, grids_) != grids_)
        idle = 0;
      else if (busy_ != 0) {
        idle = 0;
        call_helpers();
        is_watched_ = true;
        if (limit_.count() > 0 && !finishes_within(limit_, lock)) stop_workers(lock);
        is_watched_ = false;
      }
    }
  }

  void stop_workers(std::unique_lock<std::mutex>& lock) {
    const auto is_over = [this, grid = grids_] { return busy_ == 0 || grids_ != grid; };
    cancel();
    const std::uint64_t begun = next_.load();
    if (!failure_ && begun < blocks_) {  // perhaps all are between two blocks
      failure_ = report_about(*call_, FaultKind::kKernelTime);
      failure_->error = KernelFault::kLaunchTimeout;
      failure_position_ = begun;
      failure_->what =
          "time limit: the blocks that have begun wait for others, and the device holds no more";
      tell_blocks(*failure_, begun, blocks_, !is_full_);
    }
    // Often, so that one signal arrives between two calls of a kernel that prints endlessly.
    const auto patience = std::chrono::steady_clock::now() + kLibraryPatience;
    do {
      const bool even_in_library = std::chrono::steady_clock::now() > patience;
      for (Worker& worker : workers_)
        if (worker.position.load() != UINT64_MAX) interrupt_kernel(worker.thread, even_in_library);
    } while (!done_.wait_for(lock, std::chrono::milliseconds(1), is_over));
  }

  std::mutex launch_mutex_;  ///< one grid at a time
  std::mutex mutex_;
  std::mutex observed_;
  std::condition_variable start_;
  std::condition_variable done_;
  std::condition_variable look_;
  std::thread watcher_;
  bool watcher_sleeps_ = false;
  bool is_watched_ = false;               ///< the watcher wants to know when the grid is over
  std::optional<BlockRunner> launching_;  ///< of the thread that launches
  std::deque<Worker> workers_;            ///< the first is the thread that launches
  std::uint64_t usual_ = 0;               ///< workers of a launch that is not cooperative
  std::uint64_t seats_ = 0;               ///< for workers that are to join the grid
  std::size_t busy_ = 0;                  ///< workers that run the grid
  std::uint64_t grids_ = 0;
  Seconds limit_{};

  // The grid that runs.
  std::atomic<std::uint64_t> helpers_wanted_{0};  ///< workers that nobody has called yet
  std::chrono::steady_clock::time_point begun_;
  const KernelCall* call_ = nullptr;
  std::uint64_t blocks_ = 0;      ///< that run
  std::uint64_t all_blocks_ = 0;  ///< of the grid
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> cancelled_{false};
  std::optional<EmulationReport> failure_;
  std::uint64_t failure_position_ = 0;
  bool is_slow_ = false;  ///< at its time limit blocks still ended
  bool is_full_ = false;  ///< a block waits, and the device has no room for those not begun

  // The barrier of a cooperative grid.
  std::mutex meeting_mutex_;
  std::condition_variable meeting_;
  std::uint64_t met_ = 0;       ///< blocks that wait
  std::uint64_t ended_ = 0;     ///< blocks that have ended
  std::uint64_t meetings_ = 0;  ///< how often all have met
};

}  // namespace

std::optional<EmulationReport> run_grid(const KernelCall& call) {
  // Threads do not come along where a process is copied.
  if (is_copy()) {
    static GridRunner& own = *new GridRunner;
    return own.run(call);
  }
  return only<GridRunner>().run(call);
}

}  // namespace convlab::emulation
