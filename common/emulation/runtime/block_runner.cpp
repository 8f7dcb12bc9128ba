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
  shared_.begin_grid(call.dynamic_shared_bytes, call.shared_limit);
  blockDim = call.block;
  gridDim = call.grid;
  const std::uint32_t count = call.block.x * call.block.y * call.block.z;
  threads_.assign(count, EmulatedThread{});
  std::uint32_t rank = 0;
  for (unsigned z = 0; z < call.block.z; ++z)
    for (unsigned y = 0; y < call.block.y; ++y)
      for (unsigned x = 0; x < call.block.x; ++x, ++rank) {
        threads_[rank].index = {x, y, z};
        threads_[rank].rank = static_cast<std::uint16_t>(rank);
      }
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
  barrier_arrived_ = 0;
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
  return true;
}

// Inlined: every frame between the kernel and the switch is touched twice by every thread.
[[gnu::always_inline]] inline EmulatedThread* BlockRunner::take_ready() {
  if (EmulatedThread* const next = ready_; next != nullptr) [[unlikely]] {
    ready_ = next->next_ready;
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
  thread.next_ready = ready_;
  ready_ = &thread;
}

/// Leaves the stack of `left` for that of a thread that may go on.
[[gnu::always_inline]] inline void BlockRunner::resume(EmulatedThread& thread, Context& left) {
  thread_ = &thread;
  threadIdx = thread.index;
  switch_context(left, thread.context);
}

/// Hands the processor on until somebody makes the calling thread ready. (Its own arrival may have
/// made it ready: then it takes its place in the batch.)
[[gnu::always_inline]] inline void BlockRunner::wait() {
  EmulatedThread* const self = thread_;
  EmulatedThread* const next = take_ready();
  if (next == self) [[unlikely]]
    return;
  if (next != nullptr) [[likely]] {
    if (EmulatedThread* const soon = ready_ != nullptr ? ready_ : *released_) [[likely]]
      prefetch_stack(soon->context);
    resume(*next, self->context);
  } else {
    first_entered_ = fibers_.take();
    switch_context(self->context, first_entered_->context);
  }
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

void BlockRunner::run_fresh_thread(Fiber& self) {
  EmulatedThread& thread = *order_[next_fresh_++];
  thread_ = &thread;
  threadIdx = thread.index;
  thread.state = State::kRunning;
  thread.context.stack = &self.stack;
  thread.site = {};
  thread.call = "";
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
  if (barrier_arrived_ != 0 && barrier_arrived_ == live_) open_barrier();
  check_waiting(warp);
}

// ---- waiting ------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void BlockRunner::barrier(const char* name, bool predicate,
                                                        CallSite site) {
  EmulatedThread& thread = *thread_;
  thread.call = name;
  thread.site = site;
  thread.state = State::kAtBarrier;
  EmulatedThread* const next = *released_;
  const bool in_step = barrier_arrived_ != 0 && barrier_arrived_ + 1 != live_ &&
                       site == barrier_site_ && ready_ == nullptr && next != nullptr;
  if (in_step) [[likely]] {
    // One of many that come here one after the other. Nothing is needed after the switch, so that
    // nothing need be saved; this is most of what a barrier costs.
    ++barrier_arrived_;
    barrier_count_ += predicate ? 1 : 0;
    ++released_;
    if (EmulatedThread* const soon = *released_) [[likely]]
      prefetch_stack(soon->context);
    resume(*next, thread.context);
  } else {
    arrive(predicate, site);
  }
}

[[gnu::noinline]] void BlockRunner::arrive(bool predicate, CallSite site) {
  if (barrier_arrived_ == 0)
    barrier_site_ = site;
  else if (!same_place(site, barrier_site_))
    barrier_diverged_ = true;
  ++barrier_arrived_;
  barrier_count_ += predicate ? 1 : 0;
  if (barrier_arrived_ == live_) open_barrier();
  wait();
}

void BlockRunner::open_barrier() {
  if (barrier_diverged_) {
    new_fault().kind = Fault::Kind::kDivergence;
    fault_.error = KernelFault::kLaunchFailure;
    fault_.has_thread = false;
    abandon();
  }
  barrier_result_ = {static_cast<int>(barrier_arrived_), static_cast<int>(barrier_count_)};
  barrier_arrived_ = 0;
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

BarrierResult block_barrier(const char* name, bool predicate, CallSite site) {
  BlockRunner::of_kernel().barrier(name, predicate, site);
  return BlockRunner::current()->barrier_result();
}

namespace {

// Apart from collective, whose stack frame every lane touches: a message would double it.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_caller(const WarpOperation& operation,
                                                          std::uint32_t mask, std::uint32_t lane,
                                                          CallSite site) {
  std::array<char, 128> message;
  std::snprintf(message.data(), message.size(),
                "%s is called by lane %u, which its mask 0x%08x does not name", operation.name,
                lane, mask);
  fail_kernel(KernelFault::kLaunchFailure, message.data(), site);
}

[[gnu::noinline]] void begin_exchange(Warp& warp, const WarpOperation& operation,
                                      std::uint32_t mask) {
  PendingExchange& pending = warp.pending.emplace_back();
  pending.operation = operation;
  pending.exchange.mask = mask;
}

}  // namespace

inline void BlockRunner::collective(const WarpOperation& operation, std::uint32_t mask,
                                    const void* input, void* output, CallSite site) {
  EmulatedThread& thread = *thread_;
  const std::uint32_t lane = thread.rank % kWarpSize;
  Warp& warp = warps_[thread.rank / kWarpSize];
  thread.call = operation.name;
  thread.site = site;
  if (((mask >> lane) & 1U) == 0) [[unlikely]]
    refuse_caller(operation, mask, lane, site);
  const auto same = [&](const PendingExchange& pending) {
    return pending.exchange.mask == mask && pending.operation.function == operation.function &&
           (pending.operation.name == operation.name ||
            std::strcmp(pending.operation.name, operation.name) == 0);
  };
  // Nearly always the only one; two parts of a warp may be in different operations.
  std::size_t index = 0;
  while (index < warp.pending.size() && !same(warp.pending[index])) ++index;
  if (index == warp.pending.size()) [[unlikely]]
    begin_exchange(warp, operation, mask);
  WarpExchange& exchange = warp.pending[index].exchange;
  exchange.present |= 1U << lane;
  exchange.inputs[lane] = input;
  exchange.outputs[lane] = output;
  thread.state = State::kInWarp;
  if (exchange.present == (mask & warp.live)) complete(warp, index);
  wait();
}

void warp_collective(const WarpOperation& operation, std::uint32_t mask, const void* input,
                     void* output, CallSite site) {
  BlockRunner::of_kernel().collective(operation, mask, input, output, site);
}

void BlockRunner::complete(Warp& warp, std::size_t index) {
  PendingExchange& pending = warp.pending[index];
  pending.operation.function(pending.exchange);
  const std::uint32_t present = pending.exchange.present;
  if (index + 1 != warp.pending.size()) pending = warp.pending.back();
  warp.pending.pop_back();
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * kWarpSize;
  for (std::uint32_t i = kWarpSize; i-- > 0;)
    if (((present >> lane_order_[i]) & 1U) != 0) push_ready(threads_[first + lane_order_[i]]);
}

void BlockRunner::check_waiting(Warp& warp) {
  for (std::size_t i = 0; i < warp.pending.size();) {
    const WarpExchange& exchange = warp.pending[i].exchange;
    if (exchange.present == (exchange.mask & warp.live))
      complete(warp, i);
    else
      ++i;
  }
}

std::uint32_t BlockRunner::converge(CallSite site) {
  thread_->call = "__activemask";
  thread_->site = site;
  thread_->state = State::kConverging;
  wait();
  return warps_[thread_->rank / kWarpSize].converged;
}

/// Nothing can run on: the lanes of one warp that wait in the same place run it together.
bool BlockRunner::resolve_convergence() {
  for (EmulatedThread& leader : threads_) {
    if (leader.state != State::kConverging) continue;
    const std::uint32_t first = leader.rank / kWarpSize * kWarpSize;
    const auto end = std::min<std::size_t>(first + kWarpSize, threads_.size());
    const auto together = [&](const EmulatedThread& thread) {
      return thread.state == State::kConverging && same_place(thread.site, leader.site);
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

/// Threads that a barrier has released keep its state until they wait again or exit.
void BlockRunner::settle_states() {
  for (EmulatedThread* const* rest = released_; *rest != nullptr; ++rest)
    if ((*rest)->state == State::kAtBarrier) (*rest)->state = State::kReady;
  const bool all_wait =
      fault_.kind == Fault::Kind::kDeadlock || fault_.kind == Fault::Kind::kDivergence;
  if (!all_wait && thread_ != nullptr && thread_->state == State::kAtBarrier)
    thread_->state = State::kRunning;
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
