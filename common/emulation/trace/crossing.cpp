#include "common/emulation/trace/crossing.hpp"

#include <sys/syscall.h>
#include <unistd.h>

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

bool mutes_call(const char* function, const void* caller) {
  if (!in_kernel()) return false;
  const std::string_view name(function);
  if (name == "printf" || name == "puts" || name == "putchar") return is_withholding();
  BlockRunner& runner = BlockRunner::of_kernel();
  Fault& fault = runner.new_fault();
  fault.kind = EmulationFault::kException;
  fault.error = KernelFault::kLaunchFailure;
  fault.message = "the kernel calls " + std::string(name) + ", a function of the host that no GPU has";
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
extern "C" [[gnu::used]] bool convlab_mutes_call(const char* function, const void* caller) {
  return convlab::emulation::mutes_call(function, caller);
}

// A traced file calls the functions of libraries through this, with r11 at the function's address
// and name; arguments and stack are those of the function (build_custom_submission.sh).
asm(R"(
.text
.globl kernel_call
kernel_call:
  push %r11
  push %r10
  push %r9
  push %r8
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  push %rax
  sub $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  lea 8(%r11), %rdi
  mov 200(%rsp), %rsi
  call convlab_mutes_call
  test %al, %al
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  lea 128(%rsp), %rsp
  pop %rax
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %r8
  pop %r9
  pop %r10
  pop %r11
  jne 1f
  jmp *(%r11)
1:
  xor %eax, %eax
  ret
)");
#endif
