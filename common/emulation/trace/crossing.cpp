#include "common/emulation/trace/crossing.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/fiber.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/memory_pieces.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/symbol_table.hpp"
#include "common/emulation/runtime/symbolize.hpp"
#include "common/emulation/runtime/withheld.hpp"

namespace convlab::emulation {
namespace {

/// What kernels have allocated.
struct KernelHeap : MemoryPieces {};

bool is_pinned(const void* address) {
  for (const auto& [begin, bytes] : pinned_ranges()) {
    const auto* const first = static_cast<const std::byte*>(begin);
    if (address >= first && address < first + bytes) return true;
  }
  return false;
}

bool is_own_stack(const void* address) {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return reinterpret_cast<std::uintptr_t>(address) - frame < FiberPool::stack_bytes();
}

void refuse_write_to_host(const void* address, const void* caller) {
  if (is_own_stack(address) || device_memory().contains(address) ||
      only<WorkerMemory>().contains(address) || find_symbol(address) ||
      only<KernelHeap>().contains(address) || is_pinned(address)) {
    return;
  }
  BlockRunner& runner = BlockRunner::of_kernel();
  Fault& fault = runner.new_fault();
  fault.kind = EmulationFault::kOutsideAccess;
  fault.error = KernelFault::kIllegalAddress;
  fault.address = address;
  fault.writes = true;
  fault.frames[0] = const_cast<void*>(caller);
  fault.frame_count = 1;
  runner.abandon();
}

void refuse_access_by_host(const void* address, const void* caller) {
  if (device_memory().contains(address)) {
    const auto allocation = device_memory().find(address);
    if (allocation && allocation->kind != MemoryKind::kDevice) return;
  } else if (!only<WorkerMemory>().contains(address) && !only<KernelHeap>().contains(address)) {
    return;
  }
  EmulationReport report = device_memory().describe_host_access(address);
  if (!device_memory().contains(address)) {
    report.what = "the host used memory of a kernel's threads: a stack, shared memory or a heap";
  }
  void* const frame = const_cast<void*>(caller);
  report.at = source_place(&frame, 1);
  send_report(std::move(report));
  // As if the access had failed, in memory that nobody else explains.
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SEGV_ACCERR;
  info.si_addr = frame;
  syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, &info);
}

}  // namespace

void refuse_crossing(const void* address, bool writes, const void* caller) {
  if (!in_kernel()) {
    refuse_access_by_host(address, caller);
  } else if (writes) {
    refuse_write_to_host(address, caller);
  }
}

bool mutes_call(const char* function, const std::array<void*, 2>& pointers, const void* caller) {
  if (!in_kernel()) return false;
  const std::string_view name(function);
  const bool prints =
      name == "printf" || name == "__printf_chk" || name == "puts" || name == "putchar";
  if (prints) return is_withholding();
  // Mathematics whose first argument that is no number, and whose second for sincos, is a result.
  for (const std::string_view each : {"modf", "frexp", "sincos", "remquo", "lgamma"}) {
    if (!name.starts_with(each)) continue;
    refuse_write_to_host(pointers[0], caller);
    if (each == "sincos") refuse_write_to_host(pointers[1], caller);
    return false;
  }
  BlockRunner& runner = BlockRunner::of_kernel();
  Fault& fault = runner.new_fault();
  fault.kind = EmulationFault::kException;
  fault.error = KernelFault::kLaunchFailure;
  fault.message =
      "the kernel calls " + std::string(name) + ", a function of the host that no GPU has";
  fault.frames[0] = const_cast<void*>(caller);
  fault.frame_count = 1;
  runner.abandon();
}

void note_heap(void* begin, std::size_t bytes) {
  if (begin != nullptr && in_kernel()) only<KernelHeap>().add(begin, bytes);
}

void forget_heap(const void* begin) {
  only<KernelHeap>().remove(begin);
}

}  // namespace convlab::emulation

#if defined(__x86_64__)
extern "C" [[gnu::used]] bool convlab_mutes_call(const char* function, const void* caller,
                                                 void* first, void* second) {
  return convlab::emulation::mutes_call(function, {first, second}, caller);
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
  mov %rdi, %rdx
  mov %rsi, %rcx
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
)");
#endif
