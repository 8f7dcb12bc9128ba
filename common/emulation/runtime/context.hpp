#pragma once

// A stack that can be left and entered again. One switch costs 2 to 4 ns.

#include <cstddef>

#include "common/emulation/runtime/pages.hpp"

namespace convlab::emulation {

/// The bounds of a stack, and what AddressSanitizer keeps for it.
struct Stack {
  void* low = nullptr;
  std::size_t size = 0;
  void* sanitizer_stack = nullptr;
};

/// Where a suspended flow of control goes on, and the stack it stands on. Small, so that it lies in
/// the cache line of the thread that it belongs to; the stack's own data is rarely needed.
struct Context {
  void* place = nullptr;
  Stack* stack = nullptr;
};

/// A context that calls entry() on the given stack when it is first switched to.
/// entry must never return.
[[nodiscard]] Context make_context(Stack& stack, void (*entry)());

/// The bounds of the calling thread's own stack, so that fibers can switch back to it.
const Stack& thread_stack();

/// Leaves the current flow of control, which stands on from.stack, in `from` and continues `to`.
/// The first thing that runs on the other side is the return of its own switch_context, or its
/// entry function.
#if CONVLAB_ADDRESS_SANITIZER
void switch_context(Context& from, const Context& to);
#else
extern "C" void convlab_switch_stack(void** save, void* load);
[[gnu::always_inline]] inline void switch_context(Context& from, const Context& to) {
  convlab_switch_stack(&from.place, to.place);
}
#endif

/// Whether a switch has begun that AddressSanitizer believes unfinished: it takes no second one
/// now.
[[nodiscard]] bool is_switching();

/// As switch_context, but the current flow of control never continues.
[[noreturn]] void leave_for_context(const Context& to);

/// Completes the switch into an entry function. Call it there first, with the function's own stack.
void finish_first_switch(Stack& self);

}  // namespace convlab::emulation
