#include "common/emulation/runtime/warp_collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/fault.hpp"
#include "common/emulation/runtime/observer.hpp"

namespace convlab::emulation {

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
static CallSite earliest_site(const Scheduler& scheduler, std::size_t first, std::size_t end) {
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
