// The functions of collective.hpp. Each calls the parts of the block that the worker runs.

#include "common/emulation/include/convlab_emulation/collective.hpp"

#include <array>
#include <cstdio>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/kernel_faults.hpp"

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

bool in_kernel() {
  const BlockRunner* const current = BlockRunner::current();
  return current != nullptr && current->inside_kernel();
}

void place_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment) {
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
