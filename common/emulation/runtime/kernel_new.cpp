// Delete of what a kernel has allocated; the linker takes this file unless a program has its own.

#include <cstddef>

#include "common/emulation/include/convlab_emulation/kernel_heap.hpp"

void operator delete(void* memory) noexcept {
  convlab::emulation::free_anywhere(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  convlab::emulation::free_anywhere(memory);
}
