#pragma once

#include <cstdint>

#include "common/emulation/runtime/scheduler.hpp"

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

  /// Corrects the states of threads for a report about a block that failed. (Threads that a barrier
  /// has released keep its state until they wait again or exit, and where they wait is noted for
  /// all of them together.)
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

}  // namespace convlab::emulation
