// What a file that was compiled with -fsanitize=thread calls before each access to memory, in place
// of ThreadSanitizer, which is not linked; and what becomes of the calls.
//
// CONVLAB_EMU_TRACE=races       each access goes to the race detector
//                   counts      each access is counted (access_counts.hpp)
//                   steps:2,0,1:conv_forward   what one block does is recorded
//                               (step_recorder.hpp)
//                   1a2b,3c4d   at these places lanes of a warp wait for each other before they
//                               access memory, as on a GPU that runs them in step
//                   off         nothing

#include <malloc.h>
#include <string.h>  // explicit_bzero

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/scheduler.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/withheld.hpp"
#include "common/emulation/trace/access_counts.hpp"
#include "common/emulation/trace/places.hpp"
#include "common/emulation/trace/race_detector.hpp"
#include "common/emulation/trace/step_recorder.hpp"

namespace convlab::emulation {

// ---- what crosses the border between host and device --------------------------------------------

namespace {

/// Ends the kernel because of an access or a call of the program.
[[noreturn]] void fail_at(const void* caller, FaultKind kind, KernelFault error,
                          const void* address, const char* message) {
  BlockRunner& runner = BlockRunner::of_kernel();
  Fault& fault = runner.new_fault(kind, error);
  fault.address = address;
  fault.writes = address != nullptr;
  fault.message = message;
  fault.frames[0] = const_cast<void*>(caller);
  fault.frame_count = 1;
  runner.abandon();
}

void refuse_write_to_host(const void* address, const void* caller) {
  if (is_shared(address) || DeviceMemory::contains(address) || is_own_stack(address) ||
      find_symbol(address) || only<WorkerMemory>().contains(address) ||
      only<KernelHeap>().contains(address) || only<PinnedMemory>().contains(address))
    return;
  fail_at(caller, FaultKind::kDeviceMemory, KernelFault::kIllegalAddress, address, "");
}

void refuse_access_by_host(const void* address, const void* caller) {
  if (DeviceMemory::contains(address)) {
    const auto allocation = device_memory().find(address);
    if (allocation && allocation->kind != MemoryKind::kDevice) return;
  } else if (!only<WorkerMemory>().contains(address) && !only<KernelHeap>().contains(address)) {
    return;
  }
  EmulationReport report = device_memory().describe_host_access(address);
  if (!DeviceMemory::contains(address))
    report.what = "the host used memory of a kernel's threads: a stack, shared memory or a heap";
  fail_on_host(std::move(report), caller);
}

}  // namespace

bool is_own_stack(const void* address) {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return reinterpret_cast<std::uintptr_t>(address) - frame < FiberPool::stack_bytes();
}

void refuse_crossing(const void* address, bool writes, const void* caller) {
  if (!in_kernel())
    refuse_access_by_host(address, caller);
  else if (writes)
    refuse_write_to_host(address, caller);
}

[[noreturn]] static void refuse_target(const void* caller) {
  fail_at(caller, FaultKind::kException, KernelFault::kLaunchFailure, nullptr,
          "the kernel calls a function of the host, by a pointer or a table of virtual functions");
}

bool mutes_call(const char* function, void* const* arguments, const void* caller) {
  if (!in_kernel()) {
    constexpr int kInRegisters = 6;
    for (int i = 0; i < kInRegisters; ++i)
      if (!DeviceMemory::contains(arguments[i])) refuse_access_by_host(arguments[i], caller);
    return false;
  }
  const std::string_view name(function);
  const bool prints =
      name == "printf" || name == "__printf_chk" || name == "puts" || name == "putchar";
  if (prints) return is_withholding();
  // Mathematics whose first argument that is no number, and whose second for sincos, is a result.
  for (const std::string_view each : {"modf", "frexp", "sincos", "remquo", "lgamma"}) {
    if (!name.starts_with(each)) continue;
    refuse_write_to_host(arguments[0], caller);
    if (each == "sincos") refuse_write_to_host(arguments[1], caller);
    return false;
  }
  std::array<char, 200> message;  // not std::string: no destructor runs any more
  std::snprintf(message.data(), message.size(),
                "the kernel calls %s, a function of the host that no GPU has", function);
  fail_at(caller, FaultKind::kException, KernelFault::kLaunchFailure, nullptr, message.data());
}

void note_heap(void* begin, std::size_t bytes) {
  if (begin != nullptr && in_kernel()) only<KernelHeap>().add(begin, bytes);
}

// Freed memory keeps its content, and the host may get it.
void forget_heap(void* begin) {
  if (only<KernelHeap>().remove(begin)) ::explicit_bzero(begin, ::malloc_usable_size(begin));
}

// ---- what becomes of an access ------------------------------------------------------------------

namespace {

enum class Mode { kOff, kRaces, kAccesses, kMeetings };

Mode mode = Mode::kOff;
RaceDetector* detector = nullptr;
AccessObserver* accesses = nullptr;

/// Sorted.
std::vector<std::uintptr_t>* meeting_places = nullptr;

void read_mode() {
  const char* const text = std::getenv("CONVLAB_EMU_TRACE");
  const std::string value = text == nullptr ? "off" : text;
  if (value == "off") return;
  if (value == "races") {
    look_for_races();
  } else if (value == "counts") {
    count_requests();
  } else if (constexpr std::string_view kSteps = "steps:"; value.starts_with(kSteps)) {
    record_steps(value.substr(kSteps.size()));
  } else {
    mode = Mode::kMeetings;
    meeting_places = new std::vector<std::uintptr_t>;
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');)
      meeting_places->push_back(std::strtoull(word.c_str(), nullptr, 16));
    std::ranges::sort(*meeting_places);
  }
}

[[maybe_unused]] const bool is_ready = (read_mode(), true);

void wait_for_lanes(const void* caller) {
  const std::uintptr_t place = address_in_program(caller);
  if (!std::ranges::binary_search(*meeting_places, place)) return;
  CallSite site;
  site.file = kInStepSite;
  site.line = static_cast<std::uint32_t>(place);
  site.column = static_cast<std::uint32_t>(place >> 32U);
  static_cast<void>(converged_lanes(site));
}

// As in_kernel(), which is a call, for every access of a program.
bool runs_kernel() {
  const BlockRunner* const current = BlockRunner::current();
  return current != nullptr && current->inside_kernel();
}

// Most accesses of a kernel, beside those to its arrays; no other thread has anything to do with
// them.
bool is_local_variable(const void* address, bool writes, const void* frame) {
  constexpr std::uintptr_t kNear = 16 << 10;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at - reinterpret_cast<std::uintptr_t>(frame) < kNear ||
         (!writes && at - reinterpret_cast<std::uintptr_t>(&threadIdx) < sizeof(threadIdx));
}

using Range = std::pair<const void*, std::size_t>;

// What the compiler announced on this thread; nothing came since. It may then call memcpy for it.
thread_local std::array<Range, 2> announced;

// cuda_fp16.h reads a mark where a kernel multiplies: how many numbers. 0: no mark.
int marked_products(const void* address, bool writes) {
  const auto distance =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(product_marks);
  return !writes && distance < sizeof(product_marks) ? static_cast<int>(distance) : 0;
}

void on_product(const char* kind, int numbers, const void* caller, const void* frame) {
  if (mode == Mode::kAccesses && in_kernel()) accesses->multiply(kind, numbers, caller, frame);
}

void on_access(const void* address, std::size_t bytes, bool writes, bool is_volatile,
               const void* caller, const void* frame) {
  if (access_shadow != nullptr && runs_kernel())
    if (const std::byte* const byte = first_forbidden(address, bytes))
      fail_access(byte, writes, caller);
  if (const int halves = is_volatile ? marked_products(address, writes) : 0; halves > 0)
    return on_product(halves == 1 ? "half" : "half2", halves, caller, frame);
  switch (mode) {
    case Mode::kOff:
      return;
    case Mode::kRaces:
      if (!runs_kernel()) return refuse_crossing(address, writes, caller);
      if (!is_shared(address) && !DeviceMemory::contains(address)) {
        if (is_local_variable(address, writes, frame)) return;
        refuse_crossing(address, writes, caller);
        if (!is_traced_memory(reinterpret_cast<std::uintptr_t>(address))) return;
      }
      detector->access(
          {reinterpret_cast<std::uintptr_t>(address), bytes, writes, is_volatile, 0, caller});
      return;
    case Mode::kAccesses:
      announced = {};
      refuse_crossing(address, writes, caller);
      if (in_kernel()) accesses->access(address, bytes, writes, caller, frame);
      return;
    case Mode::kMeetings:
      if (runs_kernel()) wait_for_lanes(caller);
  }
}

void on_atomic(const volatile void* address, bool writes, const void* caller) {
  const bool observes = mode == Mode::kRaces || mode == Mode::kAccesses;
  if (address != nullptr && observes)
    refuse_crossing(const_cast<const void*>(address), writes, caller);
}

void on_range(const void* address, std::size_t bytes, bool writes, const void* caller,
              const void* frame) {
  const Range of_other_kind = announced[writes ? 0 : 1];
  on_access(address, bytes, writes, false, caller, frame);
  announced[writes ? 0 : 1] = of_other_kind;
  announced[writes ? 1 : 0] = {address, bytes};
}

void on_call(const void* address, std::size_t bytes, bool writes, const void* caller,
             const void* frame) {
  const Range range(address, bytes);
  if (bytes == 0 || std::exchange(announced[writes ? 1 : 0], {}) == range) return;
  on_access(address, bytes, writes, false, caller, frame);
}

}  // namespace

void look_for_races() {
  mode = Mode::kRaces;
  observer = detector = &only<RaceDetector>();
  race_source = [] { return only<RaceDetector>().take(); };
}

void observe_accesses(AccessObserver& by) {
  mode = Mode::kAccesses;
  observer = accesses = &by;
}

}  // namespace convlab::emulation

// No race: a GPU's atomic operations are other functions (device_functions.hpp).
#define CONVLAB_ON_ACCESS(...) \
  convlab::emulation::on_access(__VA_ARGS__, __builtin_frame_address(0))
#define CONVLAB_ON_RANGE(...) convlab::emulation::on_range(__VA_ARGS__, __builtin_frame_address(0))
#define CONVLAB_ON_ATOMIC(address, writes, order) \
  static_cast<void>(order);                       \
  convlab::emulation::on_atomic(address, writes, __builtin_return_address(0))
#include "common/base/thread_sanitizer_calls.inc"

// Each block of the program begins with this (-fsanitize-coverage=trace-pc).
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void __sanitizer_cov_trace_pc() {
  using namespace convlab::emulation;
  if (mode != Mode::kAccesses || !in_kernel()) return;
  accesses->come_to_block(__builtin_return_address(0), __builtin_frame_address(0));
}

// What a traced file calls in place of functions of the C library, which are not traced
// (custom_submission/traced_kernel_calls).
extern "C" {
void* convlab_traced_copy(void* to, const void* from, std::size_t bytes) {
  convlab::emulation::on_call(from, bytes, false, __builtin_return_address(0),
                              __builtin_frame_address(0));
  convlab::emulation::on_call(to, bytes, true, __builtin_return_address(0),
                              __builtin_frame_address(0));
  return std::memmove(to, from, bytes);
}
void* convlab_traced_set(void* to, int byte, std::size_t bytes) {
  convlab::emulation::on_call(to, bytes, true, __builtin_return_address(0),
                              __builtin_frame_address(0));
  return std::memset(to, byte, bytes);
}
float convlab_traced_fmaf(float x, float y, float z) {
  convlab::emulation::on_product("float", 1, __builtin_return_address(0),
                                 __builtin_frame_address(0));
  return std::fma(x, y, z);
}
void* convlab_traced_new(std::size_t bytes) {
  void* const memory = ::operator new(bytes);
  convlab::emulation::note_heap(memory, bytes);
  return memory;
}
void* convlab_traced_malloc(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  convlab::emulation::note_heap(memory, bytes);
  return memory;
}
void convlab_traced_delete(void* memory) {
  convlab::emulation::forget_heap(memory);
  ::operator delete(memory);
}
void convlab_traced_free(void* memory) {
  convlab::emulation::forget_heap(memory);
  std::free(memory);
}
// The linker renames each function to one of its own.
[[gnu::alias("convlab_traced_copy")]] void* convlab_traced_move(void*, const void*, std::size_t);
[[gnu::alias("convlab_traced_copy")]] void* convlab_checked_copy(void*, const void*, std::size_t);
[[gnu::alias("convlab_traced_copy")]] void* convlab_checked_move(void*, const void*, std::size_t);
[[gnu::alias("convlab_traced_set")]] void* convlab_checked_set(void*, int, std::size_t);
[[gnu::alias("convlab_traced_new")]] void* convlab_traced_new_array(std::size_t);
[[gnu::alias("convlab_traced_delete")]] void convlab_traced_delete_array(void*);
void convlab_traced_delete_sized(void* memory, std::size_t /*bytes*/) {
  convlab_traced_delete(memory);
}
void convlab_traced_delete_array_sized(void* memory, std::size_t /*bytes*/) {
  convlab_traced_delete(memory);
}
}

#if defined(__x86_64__)
extern "C" [[gnu::used]] bool convlab_mutes_call(const char* function, const void* caller,
                                                 void* const* arguments) {
  return convlab::emulation::mutes_call(function, arguments, caller);
}

extern "C" [[gnu::used]] void convlab_refuse_target(const void* caller) {
  if (convlab::emulation::in_kernel()) convlab::emulation::refuse_target(caller);
}

// A traced file calls the functions of libraries through this, with r11 at the function's address
// and name; arguments and stack are those of the function (build_custom_submission.sh).
asm(R"(
.text
.globl kernel_call
kernel_call:
.irp register, r11, r10, r9, r8, rcx, rdx, rsi, rdi, rax
  push %\register
.endr
  sub $128, %rsp
.irp i, 0, 1, 2, 3, 4, 5, 6, 7
  movups %xmm\i, 16*\i(%rsp)
.endr
  lea 136(%rsp), %rdx
  lea 8(%r11), %rdi
  mov 200(%rsp), %rsi
  call convlab_mutes_call
  test %al, %al
.irp i, 0, 1, 2, 3, 4, 5, 6, 7
  movups 16*\i(%rsp), %xmm\i
.endr
  lea 128(%rsp), %rsp
.irp register, rax, rdi, rsi, rdx, rcx, r8, r9, r10, r11
  pop %\register
.endr
  jne 1f
  jmp *(%r11)
1:
  xor %eax, %eax
  ret

# It calls and jumps to a pointer through these (-mindirect-branch): a kernel stays in the files of
# who wrote it, which the linker places before all others; in a program with a main of its own it
# stays in the program.
.weak convlab_end_of_submission
.irp target, rax, rcx, rdx, rbx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
.globl __x86_indirect_thunk_\target
__x86_indirect_thunk_\target:
  push %\target
  jmp indirect_call
.endr
indirect_call:
  push %rax
  lea __executable_start(%rip), %rax
  cmp %rax, 8(%rsp)
  jb 1f
  mov convlab_end_of_submission@GOTPCREL(%rip), %rax
  test %rax, %rax
  jne 2f
  lea etext(%rip), %rax
2:
  cmp %rax, 8(%rsp)
  jae 1f
  pop %rax
  ret
1:
.irp register, rbx, r11, r10, r9, r8, rcx, rdx, rsi, rdi
  push %\register
.endr
  mov 88(%rsp), %rdi
  mov %rsp, %rbx
  sub $128, %rsp
  and $-16, %rsp
.irp i, 0, 1, 2, 3, 4, 5, 6, 7
  movups %xmm\i, 16*\i(%rsp)
.endr
  call convlab_refuse_target
.irp i, 0, 1, 2, 3, 4, 5, 6, 7
  movups 16*\i(%rsp), %xmm\i
.endr
  mov %rbx, %rsp
.irp register, rdi, rsi, rdx, rcx, r8, r9, r10, r11, rbx, rax
  pop %\register
.endr
  ret
)");
#endif
