// Context switches.
//
// Idea     A function call already saves what the caller keeps; only the registers that a callee
//          must preserve are left: save them, exchange the stack pointer, restore the others'.
//          The floating-point control words are not touched by kernels and stay.
// Picture  suspended stack, growing down:  … caller | saved registers | where to go on ← sp
// Cost     a few ns, no system call.

#include "common/emulation/runtime/context.hpp"

#include <pthread.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if !CONVLAB_EMULATION_USES_UCONTEXT

/// First address on a new stack; calls the function that was stored for it.
extern "C" void convlab_enter_stack();

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl convlab_enter_stack
.type convlab_enter_stack,@function
convlab_enter_stack:
    .cfi_startproc
    .cfi_undefined %rip
    popq %rbx
    callq *%rbx
    ud2
    .cfi_endproc
.size convlab_enter_stack, .-convlab_enter_stack
.section .note.GNU-stack,"",@progbits
.text
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl convlab_switch_stack
.type convlab_switch_stack,%function
convlab_switch_stack:
    .cfi_startproc
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .cfi_endproc
.size convlab_switch_stack, .-convlab_switch_stack
.p2align 4
.globl convlab_enter_stack
.type convlab_enter_stack,%function
convlab_enter_stack:
    .cfi_startproc
    .cfi_undefined x30
    blr x19
    brk #0
    .cfi_endproc
.size convlab_enter_stack, .-convlab_enter_stack
.section .note.GNU-stack,"",%progbits
.text
)");
#endif

#endif  // !CONVLAB_EMULATION_USES_UCONTEXT

namespace convlab::emulation {
namespace {

void announce_switch([[maybe_unused]] void** leaving_stack, [[maybe_unused]] const Context& to) {
#if CONVLAB_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(leaving_stack, to.stack_low, to.stack_size);
#endif
}

void complete_switch([[maybe_unused]] void* own_stack) {
#if CONVLAB_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(own_stack, nullptr, nullptr);
#endif
}

}  // namespace

void make_context(Context& context, void* stack_low, std::size_t stack_size, void (*entry)()) {
  context.stack_low = stack_low;
  context.stack_size = stack_size;
  context.sanitizer_stack = nullptr;
  // Frames that were abandoned here may have left their redzones behind.
  allow_access(stack_low, stack_size);
#if CONVLAB_EMULATION_USES_UCONTEXT
  getcontext(&context.machine);
  context.machine.uc_stack.ss_sp = stack_low;
  context.machine.uc_stack.ss_size = stack_size;
  context.machine.uc_link = nullptr;
  makecontext(&context.machine, entry, 0);
#else
  auto top = (reinterpret_cast<std::uintptr_t>(stack_low) + stack_size) & ~std::uintptr_t{15};
  // Room for the registers that the first switch restores, in the order in which it does.
#if defined(__x86_64__)
  constexpr int kSaved = 4;  // where to go on, the entry, and zero for a debugger's last frame
  constexpr int kReturn = 0;
  constexpr int kEntry = 1;
#else
  constexpr int kSaved = 20;  // x19 … x30, d8 … d15
  constexpr int kEntry = 0;
  constexpr int kReturn = 11;
#endif
  std::memset(reinterpret_cast<void*>(top - kSaved * sizeof(void*)), 0, kSaved * sizeof(void*));
  void** frame = reinterpret_cast<void**>(top) - kSaved;
  frame[kEntry] = reinterpret_cast<void*>(entry);
  frame[kReturn] = reinterpret_cast<void*>(&convlab_enter_stack);
  context.stack_pointer = frame;
#endif
}

void adopt_thread_stack(Context& context) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &context.stack_low, &context.stack_size);
    pthread_attr_destroy(&attributes);
  }
}

#if CONVLAB_ADDRESS_SANITIZER || CONVLAB_EMULATION_USES_UCONTEXT
void switch_context(Context& from, Context& to) {
  announce_switch(&from.sanitizer_stack, to);
#if CONVLAB_EMULATION_USES_UCONTEXT
  swapcontext(&from.machine, &to.machine);
#else
  exchange_stacks(&from.stack_pointer, to.stack_pointer);
#endif
  complete_switch(from.sanitizer_stack);
}
#endif

void leave_for_context(Context& to) {
  announce_switch(nullptr, to);
#if CONVLAB_EMULATION_USES_UCONTEXT
  setcontext(&to.machine);
#else
  void* nowhere = nullptr;
  exchange_stacks(&nowhere, to.stack_pointer);
#endif
  std::abort();
}

void finish_first_switch(Context& self) {
  complete_switch(self.sanitizer_stack);
}

}  // namespace convlab::emulation
