// The functions of the contract (collective.hpp), each handed to the runner of the calling worker.

#include "common/emulation/include/convlab_emulation/collective.hpp"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {
namespace {

BlockRunner& runner() {
  return BlockRunner::of_kernel();
}

}  // namespace

std::uint32_t converged_lanes(CallSite site) {
  return runner().converge(site);
}

void sleep_until_woken(const char* name, const void* reason, CallSite site) {
  runner().sleep(name, reason, site);
}
void wake_sleepers(const void* reason) {
  if (in_kernel()) runner().wake(reason);
}

BarrierResult barrier_result() {
  return runner().barrier_result();
}

int lane_id() {
  return static_cast<int>(runner().thread().rank % kWarpSize);
}
int warp_id() {
  return static_cast<int>(runner().thread().rank / kWarpSize);
}
int thread_rank() {
  return static_cast<int>(runner().thread().rank);
}
std::uint32_t live_lanes() {
  return runner().live_lanes();
}

void take_turn() {
  if (in_kernel()) runner().take_turn();
}

bool in_kernel() {
  const BlockRunner* const current = BlockRunner::current();
  return current != nullptr && current->inside_kernel();
}

void fail_kernel(KernelFault fault, const char* message, CallSite site) {
  BlockRunner& block = runner();
  Fault& record = block.new_fault();
  record.kind = Fault::Kind::kReported;
  record.error = fault;
  record.message = message;
  record.site = site;
  block.abandon();
}

void exceed_launch_bounds(long long most_threads, CallSite site) {
  const dim3& block = runner().call().block;
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(),
                "invalid launch: %u threads per block, but its __launch_bounds__ allow %lld",
                block.x * block.y * block.z, most_threads);
  fail_kernel(KernelFault::kInvalidValue, text.data(), site);
}

void note_kernel(const char* message, CallSite site) {
  static std::mutex mutex;
  // Never destroyed: static objects may launch kernels in their destructors.
  static auto& told = *new std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>>;
  const std::string file = site.file == nullptr ? "" : site.file;
  {
    const std::lock_guard lock(mutex);
    if (!told.emplace(file, site.line, site.column).second) return;
  }
  const BlockRunner& block = runner();
  send_report(std::string("note: ") + message + "\n  in kernel " + block.call().name + " at " +
              file + ":" + std::to_string(site.line) + ":" + std::to_string(site.column));
}

void note_absent_lane(int lane, int source, std::uint32_t mask, CallSite site) {
  std::array<char, 128> text;
  std::snprintf(
      text.data(), text.size(),
      "lane %d reads lane %d, which does not take part (mask 0x%08x): the value is undefined", lane,
      source, mask);
  note_kernel(text.data(), site);
}

void place_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment) {
  BlockRunner& block = runner();
  SharedMemory& memory = block.shared_memory();
  if (memory.place(slot, bytes, alignment)) return;
  Fault& record = block.new_fault();
  record.kind = Fault::Kind::kReported;
  record.error = KernelFault::kInvalidValue;
  record.message = "invalid launch: the block wants " + std::to_string(bytes) +
                   " bytes for the shared variable " + slot.name + " above the " +
                   std::to_string(memory.static_bytes()) + " static and " +
                   std::to_string(memory.dynamic_bytes()) + " dynamic ones it has; the limit is " +
                   std::to_string(memory.limit());
  record.site.file = slot.file;
  record.site.line = slot.line;
  block.abandon();
}

}  // namespace convlab::emulation
