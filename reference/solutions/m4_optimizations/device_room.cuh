#pragma once

#include <cuda_runtime.h>

#include "common/device/cuda_check.cuh"

namespace convlab {

/// The resources of the current device. Reading them takes microseconds: a stage does it in
/// prepare.
struct DeviceRoom {
  int multiprocessors = 0;
  int block_bytes = 0;           ///< of shared memory that a block may request
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

/// Allows a kernel this much dynamic shared memory; more than 48 KiB must be requested.
template <class Kernel>
void allow_shared_bytes(Kernel kernel, int bytes) {
  CONVLAB_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// How many blocks of the kernel fit on the device at once.
template <class Kernel>
int resident_blocks(Kernel kernel, int threads, std::size_t bytes) {
  int blocks = 0;  // on a multiprocessor
  CONVLAB_CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes));
  return blocks * DeviceRoom::of_current().multiprocessors;
}

}  // namespace convlab
