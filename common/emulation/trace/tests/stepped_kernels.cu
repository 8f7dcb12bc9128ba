// Kernels whose steps a person can count.

#include <cuda_runtime.h>

#include "common/emulation/trace/tests/stepped_kernels.hpp"

namespace {

__global__ void tile(float* to, const float* from) {
  __shared__ float part[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  part[threadIdx.x] = from[i];
  __syncthreads();
  to[i] = part[63 - threadIdx.x];
}

__global__ void beyond(float* to, const float* from) {
  to[threadIdx.x] = from[225 + threadIdx.x];
}

__global__ void exchange(float* to, const float* from) {
  to[threadIdx.x] = __shfl_down_sync(0xffffffff, from[threadIdx.x], 1);
}

}  // namespace

namespace convlab::emulation {

void exchange_lanes(float* to, const float* from) {
  exchange<<<1, 32>>>(to, from);
}

void copy_by_tile(float* to, const float* from) {
  tile<<<2, 64>>>(to, from);
}
void read_beyond(float* to, const float* from) {
  beyond<<<1, 32>>>(to, from);
}

}  // namespace convlab::emulation
