#include "common/emulation/runtime/block_runner.hpp"

#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/fault.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

constinit thread_local BlockRunner* BlockRunner::current_ = nullptr;

BlockRunner::BlockRunner() : scheduler_(&BlockRunner::carry_entry) {
  current_ = this;
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
  is_first_block_ = true;
  stack_shift_ = 0;
  scheduler_.begin_grid(call.block);
  warps_.begin_grid(static_cast<std::uint32_t>(scheduler_.threads().size()));
}

bool BlockRunner::run(uint3 block_index, std::uint64_t position) {
  blockIdx = block_index;
  block_index_ = block_index;
  position_ = position;
  has_turn_ = false;
  to_pass_ = 0;
  scheduler_.begin_block(position);
  barrier_.begin_block();
  warps_.begin_block();
  shared_.begin_block();
  fault_.state = Fault::State::kNone;

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
    new_fault().error = KernelFault::kIllegalAddress;
    fault_.kind = FaultKind::kDeviceMemory;
    fault_.message = "a thread wrote " + text_of(*damage);
    fault_.memory = damage;
    fault_.writes = true;
    fault_.has_thread = false;
    return false;
  }
  if (is_first_block_) stack_shift_ = shift_to_line(scheduler_.threads().front().context);
  is_first_block_ = false;
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
    } else if (!warps_.resolve_convergence(scheduler_)) {
      fail_block(FaultKind::kBarrier, KernelFault::kLaunchTimeout,
                 "deadlock: threads wait for others that will never come");
    }
  }
}

// Not inlined: the shift must be given back before the next thread.
[[gnu::noinline]] void BlockRunner::run_thread() {
  // Compilers round up to 16 bytes; GCC adds 8 before. The asm keeps the unused memory alive.
  if (stack_shift_ != 0) asm volatile("" : : "r"(__builtin_alloca(stack_shift_ - 8)));
  call_->run_thread(call_->arguments);
  // If the thread has waited, this stack has become its own: what returned is the running thread,
  // which need not be the one that began above.
  const EmulatedThread& thread = scheduler_.end_thread();
  barrier_.leave(scheduler_);
  warps_.leave(scheduler_, thread);
}

// ---- what threads ask for -----------------------------------------------------------------------

void BlockRunner::take_turn() {
  if (has_turn_) return;
  if (!grid_->take_turn(position_)) {
    new_fault().state = Fault::State::kCancelled;
    abandon();
  }
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
    if (met == Grid::Met::kCancelled) {
      new_fault().state = Fault::State::kCancelled;
      abandon();
    }
    if (met == Grid::Met::kSomeEnded)
      fail_kernel(KernelFault::kLaunchTimeout, site,
                  "grid.sync() waits for ever: a block of the grid has ended without it");
  }
  --to_pass_;
}

Fault& BlockRunner::new_fault() {
  inside_ = false;
  const EmulatedThread* const thread = scheduler_.thread();
  fault_.state = Fault::State::kFailed;
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

}  // namespace convlab::emulation
