#include <malloc.h>
#include <string.h>  // explicit_bzero

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/scheduler.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/symbol_table.hpp"
#include "common/emulation/runtime/withheld.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {
namespace {

/// Ends the kernel because of an access or a call of the program.
[[noreturn]] void fail_at(const void* caller, FaultKind kind, KernelFault error,
                          const void* address, const char* message) {
  BlockRunner& runner = BlockRunner::of_kernel();
  Fault& fault = runner.new_fault();
  fault.kind = kind;
  fault.error = error;
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

}  // namespace convlab::emulation

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

# It calls and jumps to a pointer through these (-mindirect-branch): a kernel stays in the program.
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
  lea etext(%rip), %rax
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
