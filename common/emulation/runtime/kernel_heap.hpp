#pragma once

#include <cstddef>

// The heap of kernels, as the runtime sees it (kernel_heap.cpp); kernels see malloc and new.

namespace convlab::emulation {

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
