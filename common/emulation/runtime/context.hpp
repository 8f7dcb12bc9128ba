#pragma once

// A stack that can be left and entered again. One switch costs about 4 ns with the assembly of
// x86-64 and aarch64; other machines (and CONVLAB_EMULATION_UCONTEXT) take ucontext, about 80 ns.

#include <cstddef>

#include "common/emulation/runtime/sanitizer.hpp"

#if defined(CONVLAB_EMULATION_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))
#define CONVLAB_EMULATION_USES_UCONTEXT 1
#include <ucontext.h>
#else
#define CONVLAB_EMULATION_USES_UCONTEXT 0
#endif

namespace convlab::emulation {

#if !CONVLAB_EMULATION_USES_UCONTEXT && defined(__x86_64__)
/// Leaves a stack at *save and continues on `load`. Inline, with every register clobbered: the
/// compiler then saves only what is in use, and a barrier pays for that once and not twice.
[[gnu::always_inline]] inline void exchange_stacks(void** save, void* load) {
  asm volatile(
      "subq $128, %%rsp\n\t"  // what a leaf function keeps below its stack pointer
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%[save])\n\t"
      "movq %[load], %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "popq %%rbp\n\t"
      "addq $128, %%rsp"
      : [save] "+D"(save), [load] "+S"(load)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}
#elif !CONVLAB_EMULATION_USES_UCONTEXT
extern "C" void convlab_switch_stack(void** save, void* load);

/// Leaves a stack at *save and continues on `load`.
inline void exchange_stacks(void** save, void* load) {
  convlab_switch_stack(save, load);
}
#endif

/// Where a suspended flow of control goes on, with the stack it stands on.
struct Context {
#if CONVLAB_EMULATION_USES_UCONTEXT
  ucontext_t machine = {};
#else
  void* stack_pointer = nullptr;
#endif
  // What AddressSanitizer wants to know about the stack; without it only the bounds serve.
  void* stack_low = nullptr;
  std::size_t stack_size = 0;
  void* sanitizer_stack = nullptr;
};

/// Prepares `context` to call entry() on the given stack when it is first switched to.
/// entry must never return.
void make_context(Context& context, void* stack_low, std::size_t stack_size, void (*entry)());

/// Records the calling thread's own stack in `context`, so that fibers can switch back to it.
void adopt_thread_stack(Context& context);

/// Leaves the current flow of control in `from` and continues `to`. The first thing that runs on
/// the other side is the return of its own switch_context, or its entry function.
#if CONVLAB_ADDRESS_SANITIZER || CONVLAB_EMULATION_USES_UCONTEXT
void switch_context(Context& from, Context& to);
#else
[[gnu::always_inline]] inline void switch_context(Context& from, Context& to) {
  exchange_stacks(&from.stack_pointer, to.stack_pointer);
}
#endif

/// Brings the stack of a context that is soon switched to into the cache: with hundreds of threads,
/// waiting for it is most of what a switch costs.
[[gnu::always_inline]] inline void prefetch_stack([[maybe_unused]] const Context& soon) {
#if !CONVLAB_EMULATION_USES_UCONTEXT
  __builtin_prefetch(soon.stack_pointer);
#endif
}

/// As switch_context, for a flow of control that never comes back.
[[noreturn]] void leave_for_context(Context& to);

/// To be called first in an entry function: completes the switch that led there.
void finish_first_switch(Context& self);

}  // namespace convlab::emulation
