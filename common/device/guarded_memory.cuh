#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace convlab {

/// Memory of the current GPU that ends at most 15 bytes before unmapped memory: a kernel that reads
/// or writes beyond it fails. Its address is a multiple of 16. Each allocation takes at least one
/// page of the GPU, which is 2 MiB.
/// @return null if the driver has no such memory, or none is left
void* allocate_guarded(std::size_t bytes);

/// Whether this address comes from allocate_guarded and has not been freed.
bool is_guarded(void* memory);

/// Waits for the GPU, as cudaFree does.
/// @return the error of earlier work on the GPU
cudaError_t free_guarded(void* memory);

}  // namespace convlab
