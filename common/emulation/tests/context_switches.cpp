// Switches back and forth between two stacks and checks that values in registers survive. A program
// of its own, without a test framework, so that it can be compiled for other processors and run by
// an emulator of these.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/emulation/runtime/context.hpp"

namespace {

using convlab::emulation::Context;
using convlab::emulation::Stack;
using convlab::emulation::switch_context;

constexpr int kSwitches = 400;
constexpr std::size_t kStackBytes = std::size_t{64} << 10U;

Stack fiber_stack;
Context main_context;
Context fiber;
double computed_on_fiber = 0;
long summed_on_fiber = 0;
bool fiber_is_aligned = false;

/// Keeps its state in registers that a callee must preserve.
[[noreturn]] void run_fiber() {
  convlab::emulation::finish_first_switch(fiber_stack);
  fiber_is_aligned = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16 == 0;
  double value = 1.5;
  long sum = 7;
  for (long i = 0;; ++i) {
    value = value * 1.25 + static_cast<double>(i);
    sum = sum * 3 + i;
    computed_on_fiber = value;
    summed_on_fiber = sum % 1000003;
    sum = summed_on_fiber;
    switch_context(fiber, main_context);
  }
}

}  // namespace

int main() {
  Stack main_stack = convlab::emulation::thread_stack();
  main_context.stack = &main_stack;
  std::vector<char> memory(kStackBytes);
  fiber_stack.low = memory.data();
  fiber_stack.size = memory.size();
  fiber = convlab::emulation::make_context(fiber_stack, &run_fiber);
  double value = 1.5;
  long sum = 7;
  for (long i = 0; i < kSwitches; ++i) {
    value = value * 1.25 + static_cast<double>(i);
    sum = (sum * 3 + i) % 1000003;
    switch_context(main_context, fiber);
    if (value != computed_on_fiber || sum != summed_on_fiber) {
      std::printf("switch %ld: %g and %ld on the main stack, %g and %ld on the fiber\n", i, value,
                  sum, computed_on_fiber, summed_on_fiber);
      return 1;
    }
  }
  if (!fiber_is_aligned) {
    std::printf("the fiber's stack is not aligned to 16 bytes\n");
    return 1;
  }
  std::printf("%d switches\n", kSwitches);
  return 0;
}
