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

extern "C" {
/// Saves the callee-saved registers and the stack pointer in *save, continues on `load`.
void convlab_switch_stack(void** save, void* load);
/// First return address of a new stack; calls the function that was stored for it.
void convlab_enter_stack();
}

namespace convlab::emulation {

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
#if CONVLAB_EMULATION_ASAN || CONVLAB_EMULATION_USES_UCONTEXT
void switch_context(Context& from, Context& to);
#else
inline void switch_context(Context& from, Context& to) {
  convlab_switch_stack(&from.stack_pointer, to.stack_pointer);
}
#endif

/// As switch_context, for a flow of control that never comes back.
[[noreturn]] void leave_for_context(Context& to);

/// To be called first in an entry function: completes the switch that led there.
void finish_first_switch(Context& self);

}  // namespace convlab::emulation
