// The functions of collective.hpp. Each calls the parts of the block that the worker runs.

#include "common/emulation/include/convlab_emulation/collective.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/async_copy.hpp"
#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/signals.hpp"

namespace convlab::emulation {
namespace {

BlockRunner& runner() {
  return BlockRunner::of_kernel();
}

void begin(const AsyncCopy& copy) {
  check_access(copy.from, copy.bytes, false, copy.site);
  check_access(copy.to, copy.bytes + copy.zeros, true, copy.site);
  observe_copy(copy.to, copy.from, copy.bytes, copy.site);
}

void finish(const AsyncCopy& copy) {
  std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(static_cast<unsigned char*>(copy.to) + copy.bytes, 0, copy.zeros);
  if (observer != nullptr) observer->copied(copy.to, copy.bytes);
}

[[noreturn]] void fail(FaultKind kind, KernelFault error, const CallSite& site, const char* format,
                       std::va_list values) {
  std::array<char, 512> message;
  std::vsnprintf(message.data(), message.size(), format, values);
  Fault& fault = runner().new_fault(kind, error);
  fault.message = message.data();
  fault.site = site;
  record_frames(fault, nullptr);
  BlockRunner::current()->abandon();
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
  // What a lane had itself it need not have got.
  if (observer != nullptr && operation.exchanged_bytes > 0 &&
      std::memcmp(input, output, operation.exchanged_bytes) != 0)
    observer->exchanged(output, operation.exchanged_bytes);
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

bool is_unwritten(const void* address, std::size_t bytes) {
  if (!settings().numbered_poison) return false;
  const auto* const at = static_cast<const std::byte*>(address);
  if (is_shared(address)) return runner().shared_memory().is_unwritten(at, bytes);
  const auto found = device_memory().find(address);
  return found && at + bytes <= found->begin + found->bytes &&
         is_untouched(found->begin, static_cast<std::size_t>(at - found->begin), bytes,
                      static_cast<unsigned>(found->number), false);
}

/// A sum of integers shows no NaN, so this is told where it begins, once for each place.
static void tell_unwritten(const void* address, const void* caller) {
  static std::mutex mutex;
  static auto& told = *new std::set<const void*>;
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(caller).second) return;
  }
  const auto shared = runner().shared_memory().find(address);
  send_report({.fault = {.kind = FaultKind::kWarp, .kernel = runner().call().name},
               .is_note = true,
               .what = "note: an atomic operation begins with what nobody has written, " +
                       (shared ? text_of(*shared) + ": a thread must write it first"
                               : device_memory().describe(address) + ": cudaMemset it first"),
               .frames = {const_cast<char*>(static_cast<const char*>(caller)) - 1}});
}

/// Ends the kernel if the address is none for an atomic operation. The compiler's own check would
/// name a line of the header.
static void check_alignment(const void* address, std::size_t bytes, const void* caller) {
  const auto found = device_memory().find(address);  // begins at a multiple of 256 on a GPU
  const auto place = reinterpret_cast<std::uintptr_t>(address) -
                     (found ? reinterpret_cast<std::uintptr_t>(found->begin) : 0);
  if (place % bytes == 0) return;
  Fault& fault = runner().new_fault(FaultKind::kMisaligned, KernelFault::kMisalignedAddress);
  fault.message = "misaligned address: an atomic operation on " + std::to_string(bytes) +
                  " bytes needs a multiple of " + std::to_string(bytes) + ", and this address is " +
                  std::to_string(place % bytes) + " beyond one";
  fault.frames[0] = const_cast<char*>(static_cast<const char*>(caller)) - 1;
  fault.frame_count = 1;
  BlockRunner::current()->abandon();
}

// The return address is a place in the kernel.
[[gnu::noinline]] void begin_atomic(const void* address, std::size_t bytes, unsigned kind) {
  if (!in_kernel()) return;
  const void* const caller = __builtin_return_address(0);
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
    check_alignment(address, bytes, caller);
  // Who comes back has given its turn away.
  if (runner().poll(address, bytes, caller) && !is_shared(address)) runner().take_turn();
  if (settings().tell_poison && (kind & kAtomicStores) == 0 && is_unwritten(address, bytes))
    tell_unwritten(address, caller);
  if (observer != nullptr) observer->begin_atomic(address, bytes, kind, caller);
}
#define CONVLAB_OBSERVED(name, parameters, call)            \
  void name parameters {                                    \
    if (observer != nullptr && in_kernel()) observer->call; \
  }
CONVLAB_OBSERVED(end_atomic, (), end_atomic())
CONVLAB_OBSERVED(observe_verification, (const void* address), verify(address))
CONVLAB_OBSERVED(observe_part, (std::uint32_t warps), met_in_part(warps))
CONVLAB_OBSERVED(observe_fence, (bool in_block), fence(in_block))
CONVLAB_OBSERVED(observe_release, (const void* object), release(object))
CONVLAB_OBSERVED(observe_acquire, (const void* object), acquire(object))
CONVLAB_OBSERVED(observe_object, (const void* object, std::size_t bytes),
                 begin_object(object, bytes))
CONVLAB_OBSERVED(observe_copy,
                 (void* to, const void* from, std::size_t bytes, const CallSite& site),
                 begin_copy(to, from, bytes, site))
CONVLAB_OBSERVED(observe_copied, (void* to, std::size_t bytes, const CallSite& site),
                 end_copy(to, bytes, site))
CONVLAB_OBSERVED(observe_warp,
                 (const void* address, std::size_t bytes, std::size_t part, bool writes,
                  const CallSite& site),
                 access_by_warp(address, bytes, part, writes, site))
#undef CONVLAB_OBSERVED
bool observe_products(long long multiply_adds, const CallSite& site) {
  return observer != nullptr && in_kernel() && observer->multiply_in_warp(multiply_adds, site);
}

bool in_kernel() {
  const BlockRunner* const current = BlockRunner::current();
  return current != nullptr && current->inside_kernel();
}

void check_access(const void* begin, std::size_t bytes, bool writes, const CallSite& site) {
  const std::byte* const byte = first_forbidden(begin, bytes);
  if (byte == nullptr || (!writes && settings().forgives_reads)) return;
  BlockRunner& block = runner();
  Fault& fault = block.new_fault();
  fault.address = byte;
  fault.writes = writes;
  fault.site = site;
  block.abandon();
}

void place_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment,
                  std::size_t row_bytes) {
  slot.row_bytes = row_bytes;
  BlockRunner& block = runner();
  SharedMemory& memory = block.shared_memory();
  if (memory.place(slot, bytes, alignment)) return;
  fail_thread(FaultKind::kLaunch, KernelFault::kInvalidValue, {slot.file, slot.line, 0},
              "invalid launch: the block wants %zu bytes for the shared variable %s above the "
              "%zu static and %zu dynamic ones it has; the limit is %zu",
              bytes, slot.name, memory.static_bytes(), memory.dynamic_bytes(), memory.limit());
}

void AsyncCopyQueue::add(const AsyncCopy& copy) {
  open_.push_back(copy);
  begin(copy);
}

void AsyncCopyQueue::commit() {
  batches_.push_back(std::move(open_));
  open_.clear();
}

void AsyncCopyQueue::wait_prior(std::size_t unfinished) {
  while (batches_.size() > unfinished) {
    for (const AsyncCopy& copy : batches_.front()) {
      finish(copy);
      observe_copied(copy.to, copy.bytes + copy.zeros, copy.site);
    }
    batches_.pop_front();
  }
}

void AsyncCopyQueue::drop_all() {
  open_.clear();
  batches_.clear();
}

AsyncCopyQueue& async_copies() {
  struct BlockCopies {
    std::uint64_t block = 0;
    std::vector<AsyncCopyQueue> queues;
  };
  static thread_local BlockCopies copies;
  if (copies.block != current_block_number) {
    copies.block = current_block_number;
    for (AsyncCopyQueue& queue : copies.queues) queue.drop_all();
  }
  const auto rank = static_cast<std::size_t>(thread_rank());
  if (copies.queues.size() <= rank) copies.queues.resize(rank + 1);
  return copies.queues[rank];
}

void begin_async_copy(const char* name, void* to, const void* from, std::size_t bytes,
                      std::size_t zeros, CallSite site) {
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes)
    fail_thread(FaultKind::kCopySize, KernelFault::kIllegalInstruction, site,
                "%s copies 4, 8 or 16 bytes, not %zu (of which %zu are to become zeros)", name,
                bytes, zeros);
  for (const void* const end : {static_cast<const void*>(to), from})
    if (reinterpret_cast<std::uintptr_t>(end) % bytes != 0)
      fail_kernel(KernelFault::kMisalignedAddress, site,
                  "%s: the %s is not aligned to the %zu bytes of the copy", name,
                  end == to ? "destination" : "source", bytes);
  if (!is_shared(to))
    fail_kernel(KernelFault::kInvalidAddressSpace, site,
                "%s: the destination is not in the block's shared memory", name);
  async_copies().add({to, from, bytes - zeros, zeros, site});
}

/// Copies of the running block that a barrier waits for.
static std::map<const void*, AsyncCopies>& bound_copies() {
  static thread_local std::map<const void*, AsyncCopies> due;
  static thread_local std::uint64_t block = 0;
  if (std::exchange(block, current_block_number) != current_block_number) due.clear();
  return due;
}

void bind_copy(const void* barrier, const AsyncCopy& copy) {
  bound_copies()[barrier].push_back(copy);
  begin(copy);
}

void run_bound_copies(const void* barrier) {
  const auto copies = bound_copies().extract(barrier);
  if (copies.empty()) return;
  for (const AsyncCopy& copy : copies.mapped()) finish(copy);
}

// The ways to end a kernel with a fault: fail_kernel (collective.hpp), traps, assert, exceptions.

void fail_block(FaultKind kind, KernelFault error, const char* reason) {
  Fault& fault = runner().new_fault(kind, error);
  fault.reason = reason;
  fault.has_thread = false;
  BlockRunner::current()->abandon();
}

void fail_thread(FaultKind kind, KernelFault error, CallSite site, const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  fail(kind, error, site, format, values);
}

void fail_kernel(KernelFault error, CallSite site, const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  const FaultKind kind = error == KernelFault::kMisalignedAddress     ? FaultKind::kMisaligned
                         : error == KernelFault::kInvalidAddressSpace ? FaultKind::kAddressSpace
                                                                      : FaultKind::kWarp;
  fail(kind, error, site, format, values);
}

void trap(CallSite site) {
  fail_thread(FaultKind::kArithmetic, KernelFault::kLaunchFailure, site,
              "the kernel called __trap()");
}

void exceed_launch_bounds(long long most_threads, CallSite site) {
  const dim3& block = runner().call().block;
  fail_thread(FaultKind::kLaunch, KernelFault::kInvalidValue, site,
              "invalid launch: %u threads per block, but its __launch_bounds__ allow %lld",
              block.x * block.y * block.z, most_threads);
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
  send_report({.fault = {.kind = FaultKind::kWarp, .kernel = block.call().name},
               .is_note = true,
               .what = std::string("note: ") + message,
               .at = place_of(site)});
}

void note_absent_lane(int lane, int source, std::uint32_t mask, CallSite site) {
  note_absent_value(runner().call(), site);
  std::array<char, 128> text;
  std::snprintf(
      text.data(), text.size(),
      "lane %d reads lane %d, which does not take part (mask 0x%08x): the value is undefined", lane,
      source, mask);
  note_kernel(text.data(), site);
}

void fail_with_exception(std::exception_ptr thrown) {
  std::array<char, 256> message;
  const auto say = [&](const char* what) {
    std::snprintf(message.data(), message.size(),
                  "an exception left the kernel%s%s (a GPU knows no exceptions)",
                  *what == '\0' ? "" : ": ", what);
  };
  try {
    std::rethrow_exception(std::exchange(thrown, nullptr));
  } catch (const std::bad_alloc&) {
    std::snprintf(message.data(), message.size(),
                  "the machine has no memory for the stacks of a block's threads, or for what the "
                  "kernel allocates (ulimit -v?)");
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say("");
  }
  // fail_thread never returns and runs no destructors: nothing on this stack may own memory now.
  fail_thread(FaultKind::kException, KernelFault::kLaunchFailure, {}, "%s", message.data());
}

}  // namespace convlab::emulation

// assert() in a kernel ends the kernel, not the program: this is glibc's function.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file,
                                           unsigned int line, const char* function) noexcept {
  using namespace convlab::emulation;
  if (in_kernel()) {
    fail_thread(convlab::FaultKind::kArithmetic, KernelFault::kAssert, {file, line, 0},
                "assertion `%s' failed in %s", assertion, function);
  }
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
  std::abort();
}
