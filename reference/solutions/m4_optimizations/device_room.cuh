#pragma once

#include <cuda_runtime.h>

#include "common/device/cuda_check.cuh"

namespace convlab {

/// What the current device has room for. Asking CUDA takes microseconds: a stage does it in
/// prepare.
struct DeviceRoom {
  int multiprocessors = 0;
  int block_bytes = 0;           ///< of shared memory, for a block that asks for them
  int multiprocessor_bytes = 0;  ///< of shared memory, for all its blocks

  static DeviceRoom of_current() {
    int device = 0;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&device));
    const auto attribute = [device](cudaDeviceAttr which) {
      int value = 0;
      CONVLAB_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
      return value;
    };
    return {attribute(cudaDevAttrMultiProcessorCount),
            attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
            attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)};
  }
};

/// Lets a kernel have this much dynamic shared memory; more than 48 KiB only who asks gets.
template <class Kernel>
void allow_shared_bytes(Kernel kernel, int bytes) {
  CONVLAB_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// How many of its blocks fit on the device at once.
template <class Kernel>
int resident_blocks(Kernel kernel, int threads, std::size_t bytes) {
  int blocks = 0;  // on a multiprocessor
  CONVLAB_CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes));
  return blocks * DeviceRoom::of_current().multiprocessors;
}

}  // namespace convlab
