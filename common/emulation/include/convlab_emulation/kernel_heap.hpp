#pragma once

#include <cstddef>

namespace convlab::emulation {

// What kernels allocate, with malloc and new: device memory of its own (cudaLimitMallocHeapSize).
// The rewrite turns `malloc` and `free` of device code into the two functions below, and `new` into
// one with a KernelHeap; outside of kernels they are the host's.

void* malloc_anywhere(std::size_t bytes);
void free_anywhere(void* memory);
struct KernelHeap {};

}  // namespace convlab::emulation

/// Null if the heap has no more.
void* operator new(std::size_t bytes, convlab::emulation::KernelHeap heap) noexcept;
void* operator new[](std::size_t bytes, convlab::emulation::KernelHeap heap) noexcept;
