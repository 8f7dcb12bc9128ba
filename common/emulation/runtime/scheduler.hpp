#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/context.hpp"

namespace convlab::emulation {

/// One thread of the running block. Small, for the first-level cache: a barrier visits each.
struct alignas(32) EmulatedThread {
  enum class State : std::uint8_t {
    kFresh,
    kRunning,
    kReady,
    kAtBarrier,       ///< also after the barrier has opened, see BlockBarrier::settle_states
    kAtOtherBarrier,  ///< a divergent barrier: not the one that others wait in
    kInWarp,
    kConverging,
    kAsleep,  ///< until another thread wakes it
    kExited
  };

  uint3 index = {};
  std::uint16_t rank = 0;
  State state = State::kExited;
  Context context;  ///< valid once it has waited: then it has a stack of its own
};
static_assert(sizeof(EmulatedThread) == 32);

/// Where a thread waits, or waited last.
struct Wait {
  const char* call = "";
  CallSite site;
};

/// As ==, and also true for two copies of a file's name.
inline bool same_place(const CallSite& a, const CallSite& b) {
  return a.position() == b.position() && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

/// A stack with guard pages below it.
struct Fiber {
  Context context;  ///< where it continues when no thread of a block uses it
  Stack stack;
  std::byte* guard = nullptr;  ///< start of the guard pages; the stack lies above them
};

/// The stacks of one worker, made when first needed and kept.
class FiberPool {
 public:
  /// @param entry  what a fiber runs when it is first switched to; never returns
  explicit FiberPool(void (*entry)()) : entry_(entry) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// A fiber that is new or was parked. @throws std::bad_alloc when no stack can be mapped
  Fiber* take() {
    if (parked_.empty()) return grow();
    Fiber* fiber = parked_.back();
    parked_.pop_back();
    return fiber;
  }
  /// Takes back a fiber that waits in its entry function for more work.
  void park(Fiber* fiber) { parked_.push_back(fiber); }
  /// Abandons the work of all fibers: each starts at its entry function again.
  void reset();

  /// Size of a stack.
  [[nodiscard]] static std::size_t stack_bytes();
  /// How many pieces of stacks all pools of the process have taken.
  [[nodiscard]] static std::size_t pieces();
  /// Maps as many pieces ahead, at most 256: a process that is forked finds them, where it
  /// would otherwise protect each guard page itself.
  static void prepare(std::size_t pieces);
  /// The fiber in whose guard page `address` lies, or null.
  [[nodiscard]] const Fiber* overflown(const void* address) const;

 private:
  Fiber* grow();

  void (*entry_)();
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> parked_;
  std::vector<std::byte*> pieces_;
};

/// Decides which thread of a block goes on, and switches to its stack.
///
/// A *carrying* fiber runs thread after thread on one stack. When a thread must wait, that stack
/// becomes the thread's own and the next carrier goes on; threads that may continue come before
/// threads that have not begun. A kernel in which nothing waits switches stacks twice per block.
///
/// What every waiting thread calls is inlined: each frame would be touched twice by every thread.
class Scheduler {
 public:
  /// @param carrier  what a fiber runs first; it begins with enter_carrier()
  explicit Scheduler(void (*carrier)());

  /// What waits on the stacks of another thread of the host holds addresses of that one's
  /// variables: it is given up.
  void bind_to_thread();
  void begin_grid(const dim3& block);
  /// All threads are fresh again.
  void begin_block();

  /// The running thread; null before the first one has begun.
  [[nodiscard]] EmulatedThread* thread() const { return thread_; }
  [[nodiscard]] std::vector<EmulatedThread>& threads() { return threads_; }
  [[nodiscard]] std::uint32_t live() const { return live_; }
  /// Lanes of a warp in the order in which they take their turns.
  [[nodiscard]] const std::array<std::uint32_t, kWarpSize>& lane_order() const {
    return lane_order_;
  }

  /// Where a thread waits or waited last. Block barriers keep it elsewhere until the block is over.
  [[nodiscard]] Wait& wait_of(const EmulatedThread& thread) { return waits_[thread.rank]; }

  // ---- waiting ----------------------------------------------------------------------------------

  /// Hands the processor on until somebody makes the calling thread ready. Note the thread's state
  /// first. The switch comes last, so that nothing need be saved for afterwards.
  void wait();
  /// The same for a thread that may have made itself ready: if it is the next one, it goes on.
  void wait_in_turn();
  /// The thread goes on before all others that are ready.
  void push_ready(EmulatedThread& thread);
  /// All live threads, which wait in a barrier, may go on.
  void release_all();
  /// The next thread, if a barrier has released it; else null.
  [[nodiscard]] EmulatedThread* next_released() const {
    return ready_ == nullptr ? *released_ : nullptr;
  }
  /// Hands the processor to next_released(), which is not null.
  void hand_to_released();
  /// Waits until another thread calls wake() with the same reason.
  void sleep(const char* name, const void* reason, CallSite site);
  void wake(const void* reason);
  [[nodiscard]] bool is_asleep(const void* reason) const;
  /// Threads that a barrier has released and that have not gone on yet, up to a null.
  [[nodiscard]] EmulatedThread* const* released() const { return released_; }

  // ---- carrying ---------------------------------------------------------------------------------

  /// Runs the block: returns when leave_block() or leave_for_good() is called.
  void enter_block();
  /// The fiber of a carrier that has just been entered.
  Fiber& enter_carrier();
  /// Continues a ready thread, on whose stack the carrier's work ends for now.
  /// @return false if no thread is ready
  bool resume_ready(Fiber& carrier);
  /// The next thread that has not begun, now the running one on the carrier's stack; null if all
  /// have.
  EmulatedThread* begin_thread(Fiber& carrier);
  /// Notes that the running thread has returned. @return that thread
  EmulatedThread& end_thread();
  void leave_block(Fiber& carrier);
  /// Leaves the block in the middle; async-signal-safe. reset_fibers() must follow.
  [[noreturn]] void leave_for_good() { leave_for_context(main_); }
  void reset_fibers() { fibers_.reset(); }
  [[nodiscard]] const FiberPool& fibers() const { return fibers_; }

 private:
  struct Sleeper {
    const void* reason;
    EmulatedThread* thread;
  };

  EmulatedThread* take_ready();
  [[nodiscard]] EmulatedThread* next_ready() const {
    return ready_ != nullptr ? ready_ : *released_;
  }
  void resume(EmulatedThread& thread, Context& left);
  void carry_on();

  // What every barrier of every thread touches comes first, close together.
  EmulatedThread* thread_ = nullptr;
  /// Threads that the last barrier has released and that have not gone on yet, up to a null.
  EmulatedThread* const* released_ = nullptr;
  EmulatedThread* ready_ = nullptr;  ///< pushed last; goes on first

  std::vector<EmulatedThread> threads_;
  std::vector<Wait> waits_;  ///< by rank
  std::array<std::uint32_t, kWarpSize> lane_order_ = {};
  std::vector<EmulatedThread*> order_;      ///< in starting order, warp after warp; then a null
  EmulatedThread** ready_later_ = nullptr;  ///< above those pushed before ready_, and a null
  std::vector<EmulatedThread*> ready_stack_;
  std::vector<EmulatedThread*> survivors_;  ///< order_ without the threads that have exited
  std::vector<Sleeper> sleepers_;           ///< in the order in which they fell asleep
  std::uint32_t next_fresh_ = 0;
  std::uint32_t live_ = 0;

  Fiber* first_entered_ = nullptr;  ///< the fiber taken last; a new carrier asks which it is
  Stack main_stack_;
  Context main_;
  FiberPool fibers_;
};

[[gnu::always_inline]] inline EmulatedThread* Scheduler::take_ready() {
  if (EmulatedThread* const next = ready_; next != nullptr) {
    ready_ = *--ready_later_;
    next->state = EmulatedThread::State::kRunning;
    return next;
  }
  EmulatedThread* const next = *released_;
  if (next != nullptr) [[likely]]
    ++released_;
  return next;
}

[[gnu::always_inline]] inline void Scheduler::push_ready(EmulatedThread& thread) {
  thread.state = EmulatedThread::State::kReady;
  *ready_later_++ = ready_;
  ready_ = &thread;
}

[[gnu::always_inline]] inline void Scheduler::resume(EmulatedThread& thread, Context& left) {
  thread_ = &thread;
  threadIdx = thread.index;
  switch_context(left, thread.context);
}

[[gnu::always_inline]] inline void Scheduler::wait() {
  EmulatedThread* const self = thread_;
  if (EmulatedThread* const next = take_ready()) [[likely]] {
    resume(*next, self->context);
  } else {
    carry_on();
  }
}

[[gnu::always_inline]] inline void Scheduler::wait_in_turn() {
  if (next_ready() == thread_)
    take_ready();
  else
    wait();
}

[[gnu::always_inline]] inline void Scheduler::hand_to_released() {
  EmulatedThread* const self = thread_;
  EmulatedThread* const next = *released_++;
  resume(*next, self->context);
}

inline bool Scheduler::resume_ready(Fiber& carrier) {
  EmulatedThread* const next = take_ready();
  if (next == nullptr) return false;
  fibers_.park(&carrier);
  resume(*next, carrier.context);
  return true;
}

inline EmulatedThread* Scheduler::begin_thread(Fiber& carrier) {
  if (next_fresh_ == threads_.size()) return nullptr;
  thread_ = order_[next_fresh_++];
  threadIdx = thread_->index;
  thread_->state = EmulatedThread::State::kRunning;
  thread_->context.stack = &carrier.stack;
  waits_[thread_->rank] = {};
  return thread_;
}

inline EmulatedThread& Scheduler::end_thread() {
  thread_->state = EmulatedThread::State::kExited;
  --live_;
  return *thread_;
}

}  // namespace convlab::emulation
