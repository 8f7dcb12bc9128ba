// Delete of what a kernel has allocated; the linker takes this file unless a program has its own.

#include <cstddef>
#include <cstdlib>

#include "common/emulation/runtime/kernel_heap.hpp"

// The runtime's own objects come here, too, in the middle of a kernel.
void operator delete(void* memory) noexcept {
  if (!convlab::emulation::free_in_kernel(memory)) std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  operator delete(memory);
}
