#pragma once

#include <cstddef>

namespace convlab::emulation {

// What kernels allocate, with malloc and new: device memory of its own (cudaLimitMallocHeapSize).
// The rewrite turns `malloc` and `free` of device code into the two functions below, and `new` into
// one with a KernelHeap; outside of kernels they are the host's.

void* malloc_anywhere(std::size_t bytes);
void free_anywhere(void* memory);
struct KernelHeap {};

// ---- of the runtime -----------------------------------------------------------------------------

/// What cudaDeviceSetLimit sets; 8 MiB unless it does.
void limit_kernel_heap(std::size_t bytes);
std::size_t kernel_heap_limit();

/// For a kernel. @return null if the heap has no more
void* allocate_in_kernel(std::size_t bytes);
/// @return false if it is no memory of the heap
bool free_in_kernel(void* memory);
/// Everything in it is free again.
void empty_kernel_heap();

/// While it lives, kernels use the heap.
class KernelHeapAccess {
 public:
  KernelHeapAccess();
  KernelHeapAccess(const KernelHeapAccess&) = delete;
  KernelHeapAccess& operator=(const KernelHeapAccess&) = delete;
  ~KernelHeapAccess();
};

}  // namespace convlab::emulation

/// Null if the heap has no more.
void* operator new(std::size_t bytes, convlab::emulation::KernelHeap heap) noexcept;
void* operator new[](std::size_t bytes, convlab::emulation::KernelHeap heap) noexcept;
