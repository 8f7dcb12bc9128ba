// The functions of collective.hpp. Each calls the parts of the block that the worker runs.

#include "common/emulation/include/convlab_emulation/collective.hpp"

#include <array>
#include <cstdio>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/kernel_faults.hpp"
#include "common/emulation/runtime/observer.hpp"

namespace convlab::emulation {
namespace {

BlockRunner& runner() {
  return BlockRunner::of_kernel();
}

}  // namespace

void block_barrier(const char* name, bool predicate, CallSite site) {
  BlockRunner& block = runner();
  block.barrier().wait(block.scheduler(), name, predicate, site);
}

void warp_collective(const WarpOperation& operation, std::uint32_t mask, const void* input,
                     void* output, CallSite site) {
  BlockRunner& block = runner();
  block.warps().collective(block.scheduler(), operation, mask, input, output, site);
}

std::uint32_t converged_lanes(CallSite site) {
  return runner().warps().converge(runner().scheduler(), site);
}

void sleep_until_woken(const char* name, const void* reason, CallSite site) {
  runner().scheduler().sleep(name, reason, site);
}
void wake_sleepers(const void* reason) {
  if (in_kernel()) runner().scheduler().wake(reason);
}

void grid_barrier(CallSite site) {
  runner().grid_barrier(site);
}

bool is_cooperative() {
  return runner().call().cooperative;
}

BarrierResult barrier_result() {
  return runner().barrier().result();
}

int lane_id() {
  return static_cast<int>(runner().thread().rank % kWarpSize);
}
int thread_rank() {
  return static_cast<int>(runner().thread().rank);
}

void take_turn() {
  if (in_kernel()) runner().take_turn();
}

Observer* observer = nullptr;

// The return address is a place in the kernel.
[[gnu::noinline]] void begin_atomic(const void* address, std::size_t bytes, bool orders) {
  if (observer == nullptr || !in_kernel()) return;
  observer->begin_atomic(address, bytes, orders, __builtin_return_address(0));
}
void end_atomic() {
  if (observer != nullptr && in_kernel()) observer->end_atomic();
}
void observe_verification(const void* address) {
  if (observer != nullptr && in_kernel()) observer->verify(address);
}
void observe_fence() {
  if (observer != nullptr && in_kernel()) observer->fence();
}
void observe_release(const void* object) {
  if (observer != nullptr && in_kernel()) observer->release(object);
}
void observe_acquire(const void* object) {
  if (observer != nullptr && in_kernel()) observer->acquire(object);
}
void observe_object(const void* object, std::size_t bytes) {
  if (observer != nullptr && in_kernel()) observer->begin_object(object, bytes);
}
void observe_copy(void* to, const void* from, std::size_t bytes, const CallSite& site) {
  if (observer != nullptr && in_kernel()) observer->begin_copy(to, from, bytes, site);
}
void observe_copied(void* to, std::size_t bytes, const CallSite& site) {
  if (observer != nullptr && in_kernel()) observer->end_copy(to, bytes, site);
}
void observe_warp(const void* address, std::size_t bytes, bool writes, const CallSite& site) {
  if (observer != nullptr && in_kernel()) observer->access_by_warp(address, bytes, writes, site);
}
void observe_products(long long multiply_adds, const CallSite& site) {
  if (observer != nullptr && in_kernel()) observer->multiply_in_warp(multiply_adds, site);
}

bool in_kernel() {
  const BlockRunner* const current = BlockRunner::current();
  return current != nullptr && current->inside_kernel();
}

void place_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment,
                  std::size_t row_bytes) {
  slot.row_bytes = row_bytes;
  BlockRunner& block = runner();
  SharedMemory& memory = block.shared_memory();
  if (memory.place(slot, bytes, alignment)) return;
  std::array<char, 512> message;  // not std::string: fail_thread runs no destructors
  std::snprintf(message.data(), message.size(),
                "invalid launch: the block wants %zu bytes for the shared variable %s above the "
                "%zu static and %zu dynamic ones it has; the limit is %zu",
                bytes, slot.name, memory.static_bytes(), memory.dynamic_bytes(), memory.limit());
  CallSite site;
  site.file = slot.file;
  site.line = slot.line;
  fail_thread(EmulationFault::kLaunch, KernelFault::kInvalidValue, message.data(), site);
}

}  // namespace convlab::emulation
