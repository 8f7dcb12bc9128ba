#include "common/emulation/runtime/block_runner.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <numeric>

#include "common/emulation/include/convlab_emulation/builtins.hpp"
#include "common/emulation/runtime/random.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/error/error.hpp"

constinit thread_local uint3 threadIdx = {};
constinit thread_local uint3 blockIdx = {};
constinit thread_local dim3 blockDim;
constinit thread_local dim3 gridDim;

namespace convlab::emulation {

constinit thread_local BlockRunner* BlockRunner::current_ = nullptr;

namespace {

using State = EmulatedThread::State;

/// Keeps the compiler from dropping memory that nobody uses.
void keep_alive(void* memory) {
  asm volatile("" : : "r"(memory));
}

bool same_place(const CallSite& a, const CallSite& b) {
  return a.line == b.line && a.column == b.column &&
         (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

}  // namespace

BlockRunner::BlockRunner() : fibers_(&BlockRunner::carry_entry) {
  current_ = this;
  main_stack_ = thread_stack();
  main_.stack = &main_stack_;
}

void BlockRunner::refuse_host() {
  throw UsageError("a device function that needs a block of threads was called on the host");
}

void BlockRunner::begin_grid(const KernelCall& call, TakeTurn turn, void* grid) {
  call_ = &call;
  take_turn_ = turn;
  grid_ = grid;
  shared_.begin_grid(call);
  blockDim = call.block;
  gridDim = call.grid;
  const std::uint32_t count = call.block.x * call.block.y * call.block.z;
  threads_.assign(count, EmulatedThread{});
  is_first_block_ = true;
  stack_shift_ = 0;
  std::uint32_t rank = 0;
  for (unsigned z = 0; z < call.block.z; ++z)
    for (unsigned y = 0; y < call.block.y; ++y)
      for (unsigned x = 0; x < call.block.x; ++x, ++rank) {
        threads_[rank].index = {x, y, z};
        threads_[rank].rank = static_cast<std::uint16_t>(rank);
      }
  waits_.resize(count);
  ready_stack_.resize(count);
  warps_.resize((count + kWarpSize - 1) / kWarpSize);
  warp_order_.resize(warps_.size());
  std::iota(warp_order_.begin(), warp_order_.end(), 0U);
  std::iota(lane_order_.begin(), lane_order_.end(), 0U);
  if (settings().order == Order::kReverse) {
    std::reverse(warp_order_.begin(), warp_order_.end());
    std::reverse(lane_order_.begin(), lane_order_.end());
  }
  arrange_threads();
}

void BlockRunner::arrange_threads() {
  order_.clear();
  for (const std::uint32_t warp : warp_order_)
    for (const std::uint32_t lane : lane_order_)
      if (warp * kWarpSize + lane < threads_.size())
        order_.push_back(&threads_[warp * kWarpSize + lane]);
  order_.push_back(nullptr);
}

void BlockRunner::shuffle_threads() {
  Random random(settings().seed, position_);
  random.shuffle(warp_order_.begin(), warp_order_.end());
  random.shuffle(lane_order_.begin(), lane_order_.end());
  arrange_threads();
}

bool BlockRunner::run(uint3 block_index, std::uint64_t position) {
  blockIdx = block_index;
  block_index_ = block_index;
  position_ = position;
  has_turn_ = false;
  const auto count = static_cast<std::uint32_t>(threads_.size());
  live_ = count;
  next_fresh_ = 0;
  ready_ = nullptr;
  ready_later_ = ready_stack_.data();
  barrier_missing_ = 0;
  barrier_count_ = 0;
  barrier_diverged_ = false;
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    const std::uint32_t lanes = std::min<std::uint32_t>(count - w * kWarpSize, kWarpSize);
    warps_[w].live = lanes == kWarpSize ? kFullMask : (1U << lanes) - 1U;
    warps_[w].pending.clear();
  }
  if (settings().order == Order::kShuffle) shuffle_threads();
  for (EmulatedThread& thread : threads_) thread.state = State::kFresh;
  thread_ = nullptr;
  survivors_.clear();
  sleepers_.clear();
  released_ = &order_.back();
  shared_.begin_block();
  fault_.kind = Fault::Kind::kNone;

  first_entered_ = fibers_.take();
  inside_ = true;
  switch_context(main_, first_entered_->context);
  inside_ = false;
  if (fault_.kind != Fault::Kind::kNone) {
    settle_states();
    fibers_.reset();
    return false;
  }
  fault_.message = shared_.damage();
  if (!fault_.message.empty()) {
    new_fault().error = KernelFault::kIllegalAddress;
    fault_.kind = Fault::Kind::kReported;
    fault_.has_thread = false;
    return false;
  }
  if (is_first_block_) stack_shift_ = shift_to_line(threads_.front().context);
  is_first_block_ = false;
  return true;
}

// Inlined: every frame between the kernel and the switch is touched twice by every thread.
[[gnu::always_inline]] inline EmulatedThread* BlockRunner::take_ready() {
  if (EmulatedThread* const next = ready_; next != nullptr) {
    ready_ = *--ready_later_;
    next->state = State::kRunning;
    return next;
  }
  EmulatedThread* const next = *released_;
  if (next != nullptr) [[likely]]
    ++released_;
  return next;
}

[[gnu::always_inline]] inline void BlockRunner::push_ready(EmulatedThread& thread) {
  thread.state = State::kReady;
  *ready_later_++ = ready_;
  ready_ = &thread;
}

/// Leaves the stack of `left` for that of a thread that may go on.
[[gnu::always_inline]] inline void BlockRunner::resume(EmulatedThread& thread, Context& left) {
  thread_ = &thread;
  threadIdx = thread.index;
  switch_context(left, thread.context);
}

/// Hands the processor on until somebody makes the calling thread ready. The switch comes last, so
/// that nothing need be saved for afterwards: that is most of what waiting costs.
[[gnu::always_inline]] inline void BlockRunner::wait() {
  EmulatedThread* const self = thread_;
  if (EmulatedThread* const next = take_ready()) [[likely]] {
    if (EmulatedThread* const soon = next_ready()) [[likely]]
      prefetch_stack(soon->context);
    resume(*next, self->context);
  } else {
    carry_on();
  }
}

/// The same for a thread whose own arrival may have made it ready: then it takes its place.
[[gnu::always_inline]] inline void BlockRunner::wait_in_turn() {
  if (next_ready() == thread_)
    take_ready();
  else
    wait();
}

/// Nobody may go on: the next carrier begins another thread.
[[gnu::noinline]] void BlockRunner::carry_on() {
  EmulatedThread* const self = thread_;
  first_entered_ = fibers_.take();
  switch_context(self->context, first_entered_->context);
}

// ---- the carrying fiber -------------------------------------------------------------------------

void BlockRunner::carry_entry() {
  BlockRunner* runner = current_;
  Fiber& self = *runner->first_entered_;
  finish_first_switch(self.stack);
  runner->carry(self);
}

void BlockRunner::carry(Fiber& self) {
  for (;;) {
    if (EmulatedThread* next = take_ready()) {
      fibers_.park(&self);
      resume(*next, self.context);
    } else if (next_fresh_ < threads_.size()) {
      run_fresh_thread(self);
    } else if (live_ == 0) {
      fibers_.park(&self);
      switch_context(self.context, main_);
    } else if (!resolve_convergence()) {
      new_fault().kind = Fault::Kind::kDeadlock;
      fault_.error = KernelFault::kLaunchTimeout;
      fault_.has_thread = false;
      abandon();
    }
  }
}

// Not inlined: the shift must be given back before the next thread.
[[gnu::noinline]] void BlockRunner::run_fresh_thread(Fiber& self) {
  EmulatedThread& thread = *order_[next_fresh_++];
  thread_ = &thread;
  threadIdx = thread.index;
  thread.state = State::kRunning;
  thread.context.stack = &self.stack;
  waits_[thread.rank] = {};
  // Compilers round up to 16 bytes; GCC adds 8 before.
  if (stack_shift_ != 0) keep_alive(__builtin_alloca(stack_shift_ - 8));
  call_->run_thread(call_->arguments.get());
  on_exit();
}

void BlockRunner::on_exit() {
  // Another thread may have carried on since this one began: thread_ is the one that returned.
  EmulatedThread& thread = *thread_;
  thread.state = State::kExited;
  --live_;
  Warp& warp = warps_[thread.rank / kWarpSize];
  warp.live &= ~(1U << (thread.rank % kWarpSize));
  if (barrier_missing_ != 0 && --barrier_missing_ == 0) open_barrier();
  check_waiting(warp);
}

// ---- waiting ------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void BlockRunner::barrier(const char* name, bool predicate,
                                                        CallSite site) {
  EmulatedThread& thread = *thread_;
  thread.state = State::kAtBarrier;
  EmulatedThread* const next = *released_;
  const bool in_step =
      barrier_missing_ > 1 && site == barrier_.site && ready_ == nullptr && next != nullptr;
  if (in_step) [[likely]] {
    // One of many that come here one after the other.
    --barrier_missing_;
    barrier_count_ += predicate ? 1 : 0;
    ++released_;
    if (EmulatedThread* const soon = *released_) [[likely]]
      prefetch_stack(soon->context);
    resume(*next, thread.context);
  } else {
    arrive(name, predicate, site);
  }
}

[[gnu::noinline]] void BlockRunner::arrive(const char* name, bool predicate, CallSite site) {
  if (barrier_missing_ == 0) {
    barrier_missing_ = live_;
    barrier_ = {name, site};
  } else if (!same_place(site, barrier_.site)) {
    barrier_diverged_ = true;
    thread_->state = State::kAtOtherBarrier;
    waits_[thread_->rank] = {name, site};
  }
  --barrier_missing_;
  barrier_count_ += predicate ? 1 : 0;
  if (barrier_missing_ == 0) open_barrier();
  wait_in_turn();
}

void BlockRunner::open_barrier() {
  if (barrier_diverged_) {
    new_fault().kind = Fault::Kind::kDivergence;
    fault_.error = KernelFault::kLaunchFailure;
    fault_.has_thread = false;
    abandon();
  }
  barrier_result_ = {static_cast<int>(live_), static_cast<int>(barrier_count_)};
  opened_ = barrier_;
  barrier_count_ = 0;
  // Who has exited drops out once, here, instead of being looked at in every step.
  if (survivors_.size() != live_ + 1) {
    survivors_.clear();
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(survivors_),
                 [](const EmulatedThread* thread) {
                   return thread == nullptr || thread->state != State::kExited;
                 });
  }
  released_ = survivors_.data();
}

void block_barrier(const char* name, bool predicate, CallSite site) {
  BlockRunner::of_kernel().barrier(name, predicate, site);
}

// What a lane hands in goes through registers up to the switch, and only the usual case is in
// collective itself: a stack frame would be touched by every lane.
inline void BlockRunner::collective(const WarpOperation& operation, std::uint32_t mask,
                                    const void* input, void* output, CallSite site) {
  const std::uint32_t rank = thread_->rank;
  Warp& warp = warps_[rank / kWarpSize];
  const bool usual = ((mask >> (rank % kWarpSize)) & 1U) != 0 && !warp.pending.empty() &&
                     warp.pending.front().exchange.mask == mask &&
                     warp.pending.front().operation == operation;
  if (usual) [[likely]]
    post(warp, warp.pending.front(), input, output, {operation.name, site});
  else
    meet(operation, mask, input, output, site);
}

[[gnu::always_inline]] inline void BlockRunner::post(Warp& warp, PendingExchange& pending,
                                                     const void* input, void* output,
                                                     const Wait& wait_in) {
  waits_[thread_->rank] = wait_in;
  const std::uint32_t lane = thread_->rank % kWarpSize;
  thread_->state = State::kInWarp;
  WarpExchange& exchange = pending.exchange;
  exchange.present |= 1U << lane;
  exchange.inputs[lane] = input;
  exchange.outputs[lane] = output;
  if (exchange.present == (exchange.mask & warp.live)) [[unlikely]]
    complete_and_wait(warp, pending);
  else
    wait();
}

/// A lane that comes first, or while a part of its warp is in another operation.
[[gnu::noinline]] void BlockRunner::meet(const WarpOperation& operation, std::uint32_t mask,
                                         const void* input, void* output, CallSite site) {
  BlockRunner& self = *current_;
  const std::uint32_t rank = self.thread_->rank;
  const std::uint32_t lane = rank % kWarpSize;
  if (((mask >> lane) & 1U) == 0) {
    std::array<char, 128> message;
    std::snprintf(message.data(), message.size(),
                  "%s is called by lane %u, which its mask 0x%08x does not name", operation.name,
                  lane, mask);
    fail_kernel(KernelFault::kLaunchFailure, message.data(), site);
  }
  Warp& warp = self.warps_[rank / kWarpSize];
  const auto same = [&](const PendingExchange& pending) {
    return pending.exchange.mask == mask && pending.operation.function == operation.function &&
           std::strcmp(pending.operation.name, operation.name) == 0;
  };
  auto pending = std::find_if(warp.pending.begin(), warp.pending.end(), same);
  if (pending == warp.pending.end()) {
    pending = warp.pending.emplace(pending);
    pending->operation = operation;
    pending->exchange.mask = mask;
  }
  self.post(warp, *pending, input, output, {operation.name, site});
}

void warp_collective(const WarpOperation& operation, std::uint32_t mask, const void* input,
                     void* output, CallSite site) {
  BlockRunner::of_kernel().collective(operation, mask, input, output, site);
}

[[gnu::noinline]] void BlockRunner::complete_and_wait(Warp& warp, PendingExchange& pending) {
  complete(warp, pending);
  wait_in_turn();
}

void BlockRunner::complete(Warp& warp, PendingExchange& pending) {
  pending.operation.function(pending.exchange);
  const std::uint32_t present = pending.exchange.present;
  if (&pending != &warp.pending.back()) pending = warp.pending.back();
  warp.pending.pop_back();
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * kWarpSize;
  for (std::uint32_t i = kWarpSize; i-- > 0;)
    if (((present >> lane_order_[i]) & 1U) != 0) push_ready(threads_[first + lane_order_[i]]);
}

void BlockRunner::check_waiting(Warp& warp) {
  for (std::size_t i = 0; i < warp.pending.size();) {
    PendingExchange& pending = warp.pending[i];
    if (pending.exchange.present == (pending.exchange.mask & warp.live))
      complete(warp, pending);
    else
      ++i;
  }
}

std::uint32_t BlockRunner::converge(CallSite site) {
  waits_[thread_->rank] = {"__activemask", site};
  thread_->state = State::kConverging;
  wait();
  return warps_[thread_->rank / kWarpSize].converged;
}

void BlockRunner::sleep(const char* name, const void* reason, CallSite site) {
  waits_[thread_->rank] = {name, site};
  thread_->state = State::kAsleep;
  sleepers_.push_back({reason, thread_});
  wait();
}

void BlockRunner::wake(const void* reason) {
  // Who is pushed last goes on first: that is who fell asleep first.
  for (std::size_t i = sleepers_.size(); i-- > 0;)
    if (sleepers_[i].reason == reason) push_ready(*sleepers_[i].thread);
  std::erase_if(sleepers_, [&](const Sleeper& sleeper) { return sleeper.reason == reason; });
}

/// Nothing can run on: the lanes of one warp that wait in the same place run it together.
bool BlockRunner::resolve_convergence() {
  for (EmulatedThread& leader : threads_) {
    if (leader.state != State::kConverging) continue;
    const std::uint32_t first = leader.rank / kWarpSize * kWarpSize;
    const auto end = std::min<std::size_t>(first + kWarpSize, threads_.size());
    const auto together = [&](const EmulatedThread& thread) {
      return thread.state == State::kConverging &&
             same_place(last_wait(thread).site, last_wait(leader).site);
    };
    std::uint32_t mask = 0;
    for (std::size_t i = first; i < end; ++i)
      if (together(threads_[i])) mask |= 1U << (i - first);
    for (std::size_t i = end; i-- > first;)
      if (((mask >> (i - first)) & 1U) != 0) push_ready(threads_[i]);
    warps_[first / kWarpSize].converged = mask;
    return true;
  }
  return false;
}

void BlockRunner::take_turn() {
  if (has_turn_) return;
  if (!take_turn_(grid_, position_)) {
    new_fault().kind = Fault::Kind::kCancelled;
    abandon();
  }
  has_turn_ = true;
}

// ---- the end of a failed block ------------------------------------------------------------------

/// Threads that a barrier has released keep its state until they wait again or exit, and where they
/// wait is noted for all of them together.
void BlockRunner::settle_states() {
  const auto go_on = [&](EmulatedThread& thread, State state) {
    if (thread.state != State::kAtBarrier) return;
    thread.state = state;
    waits_[thread.rank] = opened_;
  };
  for (EmulatedThread* const* rest = released_; *rest != nullptr; ++rest)
    go_on(**rest, State::kReady);
  const bool all_wait =
      fault_.kind == Fault::Kind::kDeadlock || fault_.kind == Fault::Kind::kDivergence;
  if (!all_wait && thread_ != nullptr) go_on(*thread_, State::kRunning);
  for (EmulatedThread& thread : threads_) {
    if (thread.state == State::kAtBarrier) waits_[thread.rank] = barrier_;
    if (thread.state == State::kAtOtherBarrier) thread.state = State::kAtBarrier;
  }
}

std::uint32_t BlockRunner::awaited_lanes(const EmulatedThread& thread) const {
  for (const PendingExchange& pending : warps_[thread.rank / kWarpSize].pending)
    if (((pending.exchange.present >> (thread.rank % kWarpSize)) & 1U) != 0)
      return pending.exchange.mask;
  return 0;
}

Fault& BlockRunner::new_fault() {
  fault_.site = {};
  fault_.address = nullptr;
  fault_.frame_count = 0;
  fault_.has_thread = thread_ != nullptr;
  if (thread_ != nullptr) fault_.thread = thread_->index;
  return fault_;
}

void BlockRunner::abandon() {
  leave_for_context(main_);
}

}  // namespace convlab::emulation
