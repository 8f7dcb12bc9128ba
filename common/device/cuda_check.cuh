#pragma once

// Error checks for CUDA, for code that nvcc or the device emulation compiles.

#include <cuda_runtime.h>

#include <cstddef>

/// Wraps every call of the CUDA runtime:
///
///     CONVLAB_CUDA_CHECK(cudaMalloc(&device_input, bytes));
///
/// @throws DeviceError that names file, line, the call, CUDA's reason, and what usually causes it
#define CONVLAB_CUDA_CHECK(...) \
  ::convlab::check_cuda_call((__VA_ARGS__), #__VA_ARGS__, {__FILE__, __LINE__})

/// Follows every kernel launch, with the same grid, block and bytes of dynamic shared memory:
///
///     kernel<<<grid, block, shared_bytes>>>(…);
///     CONVLAB_CUDA_CHECK_LAUNCH(grid, block, shared_bytes);
///
/// It does not wait for the kernel.
/// @throws DeviceError that names file, line and the sizes
#define CONVLAB_CUDA_CHECK_LAUNCH(grid, block, shared_bytes) \
  ::convlab::check_cuda_launch((grid), (block), (shared_bytes), {__FILE__, __LINE__})

namespace convlab {

struct SourceLine {
  const char* file;
  int line;
};

/// What CONVLAB_CUDA_CHECK calls. @param call  its text, for the message
void check_cuda_call(cudaError_t error, const char* call, SourceLine where);

/// What CONVLAB_CUDA_CHECK_LAUNCH calls.
void check_cuda_launch(dim3 grid, dim3 block, std::size_t shared_bytes, SourceLine where);

/// Waits until the device is idle.
/// @param phase  what started its work, "convolve", for the message
/// @throws DeviceError if a launch, or a kernel that ran meanwhile, failed without being noticed
void check_device(const char* phase);

}  // namespace convlab
