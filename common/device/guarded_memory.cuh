#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace convlab {

/// Memory of the current GPU that ends, but for at most 15 bytes, where nothing is mapped: a kernel
/// that reads or writes beyond it fails, whatever its neighbours are. Its address is a multiple of
/// 16. Takes at least a page of the GPU, which is 2 MiB, for each allocation.
/// @return null if the driver has no such memory, or none is left
void* allocate_guarded(std::size_t bytes);

/// Whether allocate_guarded gave this address, and it has not been freed.
bool is_guarded(void* memory);

/// Waits for the GPU, as cudaFree does.
/// @return what went wrong on the GPU before
cudaError_t free_guarded(void* memory);

}  // namespace convlab
