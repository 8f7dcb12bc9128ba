#include "common/emulation/runtime/block_runner.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

constinit thread_local BlockRunner* BlockRunner::current_ = nullptr;

BlockRunner::BlockRunner() : scheduler_(&BlockRunner::carry_entry) {}

void BlockRunner::bind_to_thread() {
  current_ = this;
  scheduler_.bind_to_thread();
}

void BlockRunner::refuse_host() {
  throw UsageError("a device function that needs a block of threads was called on the host");
}

void BlockRunner::begin_grid(const KernelCall& call, Grid& grid) {
  call_ = &call;
  grid_ = &grid;
  shared_.begin_grid(call);
  blockDim = call.block;
  gridDim = call.grid;
  scheduler_.begin_grid(call.block);
  warps_.begin_grid(static_cast<std::uint32_t>(scheduler_.threads().size()));
}

bool BlockRunner::run(uint3 block_index, std::uint64_t position) {
  blockIdx = block_index;
  block_index_ = block_index;
  position_ = position;
  has_turn_ = false;
  to_pass_ = 0;
  polls_.clear();
  polls_change_ = is_alone_ = host_may_change_ = false;
  scheduler_.begin_block();
  barrier_.begin_block();
  warps_.begin_block();
  shared_.begin_block();
  fault_.state = Fault::State::kNone;
  overflow_.reset();

  if (observer != nullptr) observer->begin_block();
  scheduler_.enter_block();
  if (observer != nullptr) observer->end_block();
  if (fault_.state != Fault::State::kNone) {
    const bool all_wait =
        fault_.state == Fault::State::kFailed && fault_.kind == FaultKind::kBarrier;
    barrier_.settle_states(scheduler_, all_wait);
    scheduler_.reset_fibers();
    return false;
  }
  if (const auto damage = shared_.damage()) {
    new_fault();
    fault_.message = "a thread wrote " + text_of(*damage);
    fault_.memory = damage;
    fault_.writes = true;
    fault_.has_thread = false;
    return false;
  }
  return true;
}

// ---- the carrying fiber -------------------------------------------------------------------------

void BlockRunner::carry_entry() {
  BlockRunner* const runner = current_;
  Fiber& self = runner->scheduler_.enter_carrier();
  runner->inside_ = true;
  runner->carry(self);
}

void BlockRunner::carry(Fiber& self) {
  for (;;) {
    if (scheduler_.resume_ready(self)) continue;
    if (scheduler_.begin_thread(self) != nullptr) {
      run_thread();
    } else if (scheduler_.live() == 0) {
      inside_ = false;
      scheduler_.leave_block(self);
      inside_ = true;  // in another block, on the same stack
    } else if (warps_.resolve_convergence(scheduler_)) {
      polls_change_ = true;
    } else {
      wake_polling();
    }
  }
}

void BlockRunner::run_thread() {
  if (observer != nullptr) [[unlikely]]
    observer->begin_thread(__builtin_frame_address(0));
  // What reports the exception never returns: it stands outside of the handler.
  std::exception_ptr thrown;
  try {
    call_->run_thread(call_->arguments);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown) [[unlikely]]
    fail_with_exception(std::move(thrown));
  // If the thread has waited, this stack has become its own: what returned is the running thread,
  // which need not be the one that began above.
  const EmulatedThread& thread = scheduler_.end_thread();
  barrier_.leave(scheduler_);
  warps_.leave(scheduler_, thread);
}

// Other threads of the host may change what lies there while a kernel runs.
static bool is_open_to_host(const void* address) {
  if (is_shared(address)) return false;
  if (const auto found = device_memory().find(address)) return found->kind != MemoryKind::kDevice;
  const auto holds = [&](const Symbol& symbol) {
    return symbol.kind != SymbolKind::kManaged &&
           static_cast<std::size_t>(static_cast<const std::byte*>(address) - symbol.address) <
               symbol.bytes;
  };
  return std::ranges::none_of(all_symbols(), holds);
}

bool BlockRunner::poll(const void* address, std::size_t bytes, const void* caller) {
  constexpr unsigned kPatience = 1000;
  if (polls_.empty()) polls_.resize(scheduler_.threads().size());
  Poll& poll = polls_[thread().rank];
  const bool has_waited = poll.times >= kPatience;
  std::uint64_t bits = poll.bits;
  // What it looks at for the first time may lie nowhere.
  if (poll.address == address) std::memcpy(&bits, address, std::min(bytes, sizeof bits));
  if (poll.address != address || poll.bits != bits) {
    polls_change_ |= has_waited;
    poll = {address, bits};
    return false;
  }
  if (++poll.times % kPatience != 0) return false;
  polls_change_ |= !has_waited;
  host_may_change_ |= is_open_to_host(address);
  polls_at_ = caller;
  scheduler_.sleep("", &polls_, {});
  return true;
}

void BlockRunner::wake_polling() {
  if (!scheduler_.is_asleep(&polls_))
    fail_block(FaultKind::kBarrier, KernelFault::kLaunchTimeout,
               "deadlock: threads wait for others that will never come");
  if (!std::exchange(polls_change_, false)) {
    inside_ = false;  // a signal must not leave the wait in the middle
    const Grid::Met met = grid_->give_way(position_);
    inside_ = true;
    has_turn_ = false;
    abandon_if_cancelled(met);
    // They look once more after the last one of the others has ended.
    if (met == Grid::Met::kSomeEnded && std::exchange(is_alone_, true) && !host_may_change_) {
      Fault& fault = new_fault(FaultKind::kKernelTime, KernelFault::kLaunchTimeout);
      fault.reason =
          "the kernel waits for ever: no other thread is left to change what it reads "
          "again and again";
      fault.frames[0] = const_cast<char*>(static_cast<const char*>(polls_at_)) - 1;
      fault.frame_count = 1;
      fault.has_thread = false;
      abandon();
    }
  }
  scheduler_.wake(&polls_);
}

void BlockRunner::abandon_if_cancelled(Grid::Met met) {
  if (met != Grid::Met::kCancelled) return;
  new_fault().state = Fault::State::kCancelled;
  abandon();
}

// ---- what threads ask for -----------------------------------------------------------------------

void BlockRunner::take_turn() {
  if (has_turn_) return;
  if (!grid_->take_turn(position_)) abandon_if_cancelled(Grid::Met::kCancelled);
  has_turn_ = true;
}

// Not inlined: a thread goes on here on another stack's registers.
[[gnu::noinline]] void BlockRunner::grid_barrier(CallSite site) {
  if (!call_->cooperative)
    fail_kernel(KernelFault::kIllegalInstruction, site,
                "grid.sync() needs a launch by cudaLaunchCooperativeKernel, so that all blocks are "
                "on the device at the same time");
  barrier_.wait(scheduler_, "grid_group::sync", false, site);
  // All threads of the block are on one thread of the host: while the first one waits here, they
  // all do.
  if (to_pass_ == 0) {
    to_pass_ = scheduler_.live();
    inside_ = false;  // a signal must not leave the wait in the middle
    const Grid::Met met = grid_->meet_all(position_);
    inside_ = true;
    has_turn_ = false;
    abandon_if_cancelled(met);
    if (met == Grid::Met::kSomeEnded)
      fail_kernel(KernelFault::kLaunchTimeout, site,
                  "grid.sync() waits for ever: a block of the grid has ended without it");
  }
  --to_pass_;
}

Fault& BlockRunner::new_fault(FaultKind kind, KernelFault error) {
  inside_ = false;
  const EmulatedThread* const thread = scheduler_.thread();
  fault_.state = Fault::State::kFailed;
  fault_.kind = kind;
  fault_.error = error;
  fault_.message.clear();
  fault_.reason = nullptr;
  fault_.memory.reset();
  fault_.site = {};
  fault_.address = nullptr;
  fault_.writes = false;
  fault_.frame_count = 0;
  fault_.has_thread = thread != nullptr;
  if (thread != nullptr) fault_.thread = thread->index;
  return fault_;
}

// ---- barriers and meetings of warps -------------------------------------------------------------

namespace {
using State = EmulatedThread::State;
}  // namespace

void WarpCollectives::begin_grid(std::uint32_t threads) {
  threads_ = threads;
  warps_.resize((threads + kWarpSize - 1) / kWarpSize);
}

void WarpCollectives::begin_block() {
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    const std::uint32_t lanes = std::min<std::uint32_t>(threads_ - w * kWarpSize, kWarpSize);
    warps_[w].live = lanes == kWarpSize ? kFullMask : (1U << lanes) - 1U;
    warps_[w].pending.clear();
  }
}

/// The slow path: the first lane, or a lane whose warp has other operations pending, too.
[[gnu::noinline]] void WarpCollectives::meet(const WarpOperation& operation, std::uint32_t mask,
                                             const void* input, void* output, CallSite site) {
  BlockRunner& block = *BlockRunner::current();
  WarpCollectives& self = block.warps();
  const std::uint32_t rank = block.thread().rank;
  const std::uint32_t lane = rank % kWarpSize;
  if (((mask >> lane) & 1U) == 0) {
    fail_thread(FaultKind::kWarp, KernelFault::kLaunchFailure, site,
                "%s is called by lane %u, which its mask 0x%08x does not name", operation.name,
                lane, mask);
  }
  Warp& warp = self.warps_[rank / kWarpSize];
  const auto same = [&](const Pending& pending) {
    return pending.exchange.mask == mask && pending.operation.function == operation.function &&
           std::strcmp(pending.operation.name, operation.name) == 0;
  };
  auto pending = std::ranges::find_if(warp.pending, same);
  if (pending == warp.pending.end()) {
    pending = warp.pending.emplace(pending);
    pending->operation = operation;
    pending->exchange.mask = mask;
  }
  self.post(block.scheduler(), warp, *pending, input, output, {operation.name, site});
}

[[gnu::noinline]] void WarpCollectives::complete_and_wait(Scheduler& scheduler, Warp& warp,
                                                          Pending& pending) {
  complete(scheduler, warp, pending);
  scheduler.wait_in_turn();
}

void WarpCollectives::complete(Scheduler& scheduler, Warp& warp, Pending& pending) {
  pending.operation.function(pending.exchange);
  const std::uint32_t present = pending.exchange.present;
  const auto first = static_cast<std::uint32_t>(&warp - warps_.data()) * kWarpSize;
  if (observer != nullptr) [[unlikely]] {
    const EmulatedThread& some =
        scheduler
            .threads()[first + static_cast<unsigned>(std::countr_zero(present | 0x8000'0000U))];
    observer->met_in_warp(first, pending.operation, present, scheduler.wait_of(some).site);
  }
  if (&pending != &warp.pending.back()) pending = warp.pending.back();
  warp.pending.pop_back();
  const auto& order = scheduler.lane_order();
  for (auto lane = order.rbegin(); lane != order.rend(); ++lane)
    if (((present >> *lane) & 1U) != 0) scheduler.push_ready(scheduler.threads()[first + *lane]);
}

void WarpCollectives::leave(Scheduler& scheduler, const EmulatedThread& thread) {
  Warp& warp = warps_[thread.rank / kWarpSize];
  warp.live &= ~(1U << (thread.rank % kWarpSize));
  for (std::size_t i = 0; i < warp.pending.size();) {
    Pending& pending = warp.pending[i];
    if (pending.exchange.present == (pending.exchange.mask & warp.live))
      complete(scheduler, warp, pending);
    else
      ++i;
  }
}

std::uint32_t WarpCollectives::converge(Scheduler& scheduler, CallSite site) {
  EmulatedThread& thread = *scheduler.thread();
  scheduler.wait_of(thread) = {"__activemask", site};
  thread.state = State::kConverging;
  scheduler.wait();
  return warps_[thread.rank / kWarpSize].converged;
}

/// The smallest address at which threads from `first` to `end` wait in step.
static CallSite earliest_site(Scheduler& scheduler, std::size_t first, std::size_t end) {
  CallSite earliest;
  for (std::size_t i = first; i < end; ++i) {
    const EmulatedThread& thread = scheduler.threads()[i];
    const CallSite& site = scheduler.wait_of(thread).site;
    const bool waits = thread.state == State::kConverging && site.file == kInStepSite;
    if (waits && (earliest.file == nullptr || site.position() < earliest.position()))
      earliest = site;
  }
  return earliest;
}

bool WarpCollectives::resolve_convergence(Scheduler& scheduler) {
  auto& threads = scheduler.threads();
  for (const EmulatedThread& leader : threads) {
    if (leader.state != State::kConverging) continue;
    const std::uint32_t first = leader.rank / kWarpSize * kWarpSize;
    const auto end = std::min<std::size_t>(first + kWarpSize, threads.size());
    CallSite site = scheduler.wait_of(leader).site;
    if (site.file == kInStepSite) site = earliest_site(scheduler, first, end);
    std::uint32_t mask = 0;
    for (std::size_t i = end; i-- > first;) {
      if (threads[i].state != State::kConverging ||
          !same_place(scheduler.wait_of(threads[i]).site, site))
        continue;
      mask |= 1U << (i - first);
      scheduler.push_ready(threads[i]);
    }
    warps_[first / kWarpSize].converged = mask;
    return true;
  }
  return false;
}

std::uint32_t WarpCollectives::awaited_lanes(const EmulatedThread& thread) const {
  for (const Pending& pending : warps_[thread.rank / kWarpSize].pending)
    if (((pending.exchange.present >> (thread.rank % kWarpSize)) & 1U) != 0)
      return pending.exchange.mask;
  return 0;
}

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
  if (diverged_)
    fail_block(FaultKind::kBarrier, KernelFault::kLaunchFailure,
               "divergent barrier: threads of one block met in different barriers");
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
