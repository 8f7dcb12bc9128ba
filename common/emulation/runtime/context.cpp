// Context switches.
//
// Idea     A function call already saves what the caller keeps; only the registers that a callee
//          must preserve are left: save them, exchange the stack pointer, restore the others'.
//          The floating-point control words are not touched by kernels and stay.
// Picture  suspended stack, growing down:  … caller | where to go on | saved registers ← place
// Cost     2 to 4 ns, no system call. It ends in a return, not in a jump: threads wait in the same
//          place mostly, so that the processor's stack of return addresses predicts it, and a
//          barrier that needs no register afterwards saves none itself.

#include "common/emulation/runtime/context.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "common/base/address_sanitizer.hpp"

/// Leaves a stack at *save and continues on `load`.
extern "C" void convlab_switch_stack(void** save, void* load);
/// First address on a new stack; calls the function that was stored for it.
extern "C" void convlab_enter_stack();

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl convlab_switch_stack
.type convlab_switch_stack,@function
convlab_switch_stack:
    .cfi_startproc
.irp register, rbp, rbx, r12, r13, r14, r15
    pushq %\register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %\register, 0
.endr
    movq %rsp, (%rdi)
    movq %rsi, %rsp
.irp register, r15, r14, r13, r12, rbx, rbp
    popq %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore %\register
.endr
    ret
    .cfi_endproc
.size convlab_switch_stack, .-convlab_switch_stack
.p2align 4
.globl convlab_enter_stack
.type convlab_enter_stack,@function
convlab_enter_stack:
    .cfi_startproc
    .cfi_undefined %rip
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
#else
#error "The emulation switches stacks on x86-64 and aarch64 only."
#endif

namespace convlab::emulation {
namespace {

constinit thread_local volatile bool switching = false;

void announce_switch([[maybe_unused]] void** leaving_stack, [[maybe_unused]] const Context& to) {
#if CONVLAB_ADDRESS_SANITIZER
  switching = true;
  __sanitizer_start_switch_fiber(leaving_stack, to.stack->low, to.stack->size);
#endif
}

void complete_switch([[maybe_unused]] void* own_stack) {
#if CONVLAB_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(own_stack, nullptr, nullptr);
  switching = false;
#endif
}

}  // namespace

Context make_context(Stack& stack, void (*entry)()) {
  stack.sanitizer_stack = nullptr;
  // Frames that were abandoned here may have left their redzones behind.
  if (CONVLAB_ADDRESS_SANITIZER) allow_access(stack.low, stack.size);
  std::byte* top = static_cast<std::byte*>(stack.low) + stack.size;
  top -= reinterpret_cast<std::uintptr_t>(top) % 16;
  // Room for the registers that the first switch restores, in the order in which it does.
#if defined(__x86_64__)
  // r15 … r12, rbx, rbp, where to go on; zeros for a debugger's last frame, of which there must be
  // two: the stack is aligned to 16 bytes where convlab_enter_stack calls.
  constexpr int kSaved = 9;
  constexpr int kEntry = 4;
  constexpr int kReturn = 6;
#else
  constexpr int kSaved = 20;  // x19 … x30, d8 … d15
  constexpr int kEntry = 0;
  constexpr int kReturn = 11;
#endif
  void** frame = reinterpret_cast<void**>(top) - kSaved;
  std::fill_n(frame, kSaved, nullptr);
  frame[kEntry] = reinterpret_cast<void*>(entry);
  frame[kReturn] = reinterpret_cast<void*>(&convlab_enter_stack);
  return {.place = frame, .stack = &stack};
}

bool is_switching() {
  return switching;
}

const Stack& thread_stack() {
  static thread_local const Stack own = [] {
    Stack stack;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &stack.low, &stack.size);
      pthread_attr_destroy(&attributes);
    }
    return stack;
  }();
  return own;
}

#if CONVLAB_ADDRESS_SANITIZER
void switch_context(Context& from, const Context& to) {
  Stack& own = *from.stack;
  announce_switch(&own.sanitizer_stack, to);
  convlab_switch_stack(&from.place, to.place);
  complete_switch(own.sanitizer_stack);
}
#endif

// Its variable would lie among those that AddressSanitizer keeps for this stack and now gives up.
CONVLAB_UNCHECKED void leave_for_context(const Context& to) {
  announce_switch(nullptr, to);
  void* nowhere = nullptr;
  convlab_switch_stack(&nowhere, to.place);
  std::abort();
}

void finish_first_switch(Stack& self) {
  complete_switch(self.sanitizer_stack);
}

}  // namespace convlab::emulation
