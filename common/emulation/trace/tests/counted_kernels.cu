// Kernels whose requests follow from the CUDA C++ Programming Guide: sectors of 32 bytes, 32 banks of
// 4 bytes.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>

#include "common/emulation/trace/tests/counted_kernels.hpp"

namespace {

__device__ float kept;
__device__ float4 kept_four;

struct Wide {
  float x[64];
};
__device__ Wide kept_wide;

__global__ void load(const float* from, int stride, int offset) {
  kept = from[threadIdx.x * stride + offset];
}

__global__ void load_by_some(const float* from, int lanes) {
  if (threadIdx.x < lanes) kept = from[threadIdx.x];
}

__global__ void load_twice(const float* from) {
  for (int i = 0; i < 2; ++i) kept = from[i * 64 + threadIdx.x];
}

__global__ void load_four(const float4* from) {
  kept_four = from[threadIdx.x];
}

__global__ void load_shared(int stride) {
  extern __shared__ float tile[];
  kept = tile[threadIdx.x * stride];
}

__global__ void load_four_shared(int stride) {
  extern __shared__ float4 tile_of_four[];
  kept_four = tile_of_four[threadIdx.x * stride];
}

__global__ void load_wide_shared() {
  extern __shared__ Wide wide_tile[];
  if (threadIdx.x < 2) kept_wide = wide_tile[threadIdx.x];
}

// Begins an operation and does not end it.
__global__ void begin_atomically(volatile float* from) {
  convlab::emulation::begin_atomic(const_cast<float*>(from) + threadIdx.x, sizeof(float), false);
  for (int i = 0; i < 4; ++i) kept = from[threadIdx.x];
}

__global__ void add_atomically(float* to, int stride) {
  atomicAdd(to + threadIdx.x * stride, 1.0f);
}

__global__ void copy_asynchronously(const float* from) {
  extern __shared__ float tile[];
  __pipeline_memcpy_async(tile + threadIdx.x, from + threadIdx.x, sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

__global__ void multiply(const half* from) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(b, __float2half(1.0f));
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(a, from, 16);
  wmma::mma_sync(sum, a, b, sum);
}

constexpr std::size_t kSharedBytes = 32 * 33 * sizeof(float);

template <int kStride, int kOffset>
void run_load(void* memory) {
  load<<<1, 32>>>(static_cast<const float*>(memory), kStride, kOffset);
}
template <int kLanes>
void run_load_by_some(void* memory) {
  load_by_some<<<1, 32>>>(static_cast<const float*>(memory), kLanes);
}
void run_load_twice(void* memory) {
  load_twice<<<1, 32>>>(static_cast<const float*>(memory));
}
void run_load_four(void* memory) {
  load_four<<<1, 32>>>(static_cast<const float4*>(memory));
}
template <int kStride>
void run_load_shared(void*) {
  load_shared<<<1, 32, kSharedBytes>>>(kStride);
}
template <int kStride>
void run_load_four_shared(void*) {
  load_four_shared<<<1, 32, kSharedBytes>>>(kStride);
}
void run_load_wide_shared(void*) {
  load_wide_shared<<<1, 32, kSharedBytes>>>();
}
void run_begin_atomically(void* memory) {
  begin_atomically<<<1, 32>>>(static_cast<float*>(memory));
}
template <int kStride>
void run_add_atomically(void* memory) {
  add_atomically<<<1, 32>>>(static_cast<float*>(memory), kStride);
}
void run_copy_asynchronously(void* memory) {
  copy_asynchronously<<<1, 32, kSharedBytes>>>(static_cast<const float*>(memory));
}
void run_multiply(void* memory) {
  multiply<<<1, 32>>>(static_cast<const half*>(memory));
}

}  // namespace

namespace convlab::emulation {

// Name, kernel, space, writes, requests, lanes, parts, conflicts, multiply-adds.
std::vector<CountedKernel> counted_kernels() {
  return {
      {"side by side", run_load<1, 0>, "global", false, 1, 32, 4, 0},
      {"one element later", run_load<1, 1>, "global", false, 1, 32, 5, 0},
      {"every second", run_load<2, 0>, "global", false, 1, 32, 8, 0},
      {"a sector each", run_load<8, 0>, "global", false, 1, 32, 32, 0},
      {"all the same", run_load<0, 0>, "global", false, 1, 32, 1, 0},
      {"ten lanes", run_load_by_some<10>, "global", false, 1, 10, 2, 0},
      {"twice", run_load_twice, "global", false, 2, 64, 8, 0},
      {"four floats of a lane", run_load_four, "global", false, 1, 32, 16, 0},
      {"shared, side by side", run_load_shared<1>, "shared", false, 1, 32, 1, 0},
      {"shared, every second", run_load_shared<2>, "shared", false, 1, 32, 2, 1},
      {"shared, one bank", run_load_shared<32>, "shared", false, 1, 32, 32, 31},
      {"shared, padded", run_load_shared<33>, "shared", false, 1, 32, 1, 0},
      {"shared, all the same", run_load_shared<0>, "shared", false, 1, 32, 1, 0},
      {"shared, four floats side by side", run_load_four_shared<1>, "shared", false, 1, 32, 4, 0},
      {"shared, the same four floats", run_load_four_shared<0>, "shared", false, 1, 32, 2, 0},
      // 16 requests of 16 bytes; two lanes 256 bytes apart use the same banks.
      {"shared, 256 bytes of two lanes", run_load_wide_shared, "shared", false, 16, 32, 32, 16},
      {"atomic, begun only", run_begin_atomically, "global", false, 3, 96, 12, 0},
      {"atomic, own addresses", run_add_atomically<1>, "global", true, 1, 32, 4, 0},
      {"atomic, one address", run_add_atomically<0>, "global", true, 1, 32, 1, 31},
      {"asynchronous copy, from", run_copy_asynchronously, "global", false, 1, 32, 4, 0},
      {"asynchronous copy, to", run_copy_asynchronously, "shared", true, 1, 32, 1, 0},
      // 16 rows of 32 bytes: four times eight rows of 16 bytes, each of them in its own sector.
      {"fragment", run_multiply, "global", false, 4, 32, 32, 0, 4096},
  };
}

}  // namespace convlab::emulation
