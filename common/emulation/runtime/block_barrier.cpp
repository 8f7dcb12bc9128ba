#include "common/emulation/runtime/block_barrier.hpp"

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/kernel_faults.hpp"
#include "common/emulation/runtime/observer.hpp"

namespace convlab::emulation {

using State = EmulatedThread::State;

void BlockBarrier::begin_block() {
  missing_ = 0;
  count_ = 0;
  diverged_ = false;
}

[[gnu::noinline]] void BlockBarrier::arrive(Scheduler& scheduler, const char* name, bool predicate,
                                            CallSite site) {
  if (missing_ == 0) {
    missing_ = scheduler.live();
    place_ = {name, site};
  } else if (!same_place(site, place_.site)) {
    diverged_ = true;
    scheduler.thread()->state = State::kAtOtherBarrier;
    scheduler.wait_of(*scheduler.thread()) = {name, site};
  }
  --missing_;
  count_ += predicate ? 1 : 0;
  if (missing_ == 0) open(scheduler);
  scheduler.wait_in_turn();
}

void BlockBarrier::open(Scheduler& scheduler) {
  if (diverged_) fail_block(EmulationFault::kDivergentBarrier, KernelFault::kLaunchFailure);
  if (scheduler.live() != scheduler.threads().size()) [[unlikely]] {
    note_early_end(BlockRunner::of_kernel().call(),
                   static_cast<int>(scheduler.threads().size() - scheduler.live()), place_.site);
  }
  result_ = {static_cast<int>(scheduler.live()), static_cast<int>(count_)};
  opened_ = place_;
  count_ = 0;
  if (observer != nullptr) [[unlikely]]
    observer->met_in_block(place_.call, place_.site);
  scheduler.release_all();
}

void BlockBarrier::settle_states(Scheduler& scheduler, bool all_wait) const {
  const auto go_on = [&](EmulatedThread& thread, State state) {
    if (thread.state != State::kAtBarrier) return;
    thread.state = state;
    scheduler.wait_of(thread) = opened_;
  };
  for (EmulatedThread* const* rest = scheduler.released(); *rest != nullptr; ++rest)
    go_on(**rest, State::kReady);
  if (!all_wait && scheduler.thread() != nullptr) go_on(*scheduler.thread(), State::kRunning);
  for (EmulatedThread& thread : scheduler.threads()) {
    if (thread.state == State::kAtBarrier) scheduler.wait_of(thread) = place_;
    if (thread.state == State::kAtOtherBarrier) thread.state = State::kAtBarrier;
  }
}

}  // namespace convlab::emulation
