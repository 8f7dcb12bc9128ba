// Small kernels, each with one way of using memory, for comparing the counters of `grader profile`
// with a GPU's (calibrate.py). Each stage launches many of them; it computes no convolution.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlocks = 4;
constexpr int kThreads = 128;

__constant__ float table[kThreads];

__device__ int rank() {
  return blockIdx.x * kThreads + threadIdx.x;
}

// ---- loads from global memory -------------------------------------------------------------------

__global__ void load_side_by_side(float* to, const float* from) {
  to[rank()] = from[rank()];
}
__global__ void load_one_later(float* to, const float* from) {
  to[rank()] = from[rank() + 1];
}
__global__ void load_seven_later(float* to, const float* from) {
  to[rank()] = from[rank() + 7];
}
__global__ void load_every_2nd(float* to, const float* from) {
  to[rank()] = from[2 * rank()];
}
__global__ void load_every_3rd(float* to, const float* from) {
  to[rank()] = from[3 * rank()];
}
__global__ void load_every_4th(float* to, const float* from) {
  to[rank()] = from[4 * rank()];
}
__global__ void load_every_8th(float* to, const float* from) {
  to[rank()] = from[8 * rank()];
}
__global__ void load_backwards(float* to, const float* from) {
  to[rank()] = from[kBlocks * kThreads - 1 - rank()];
}
__global__ void load_permuted(float* to, const float* from) {
  to[rank()] = from[rank() * 37 % (kBlocks * kThreads)];
}
__global__ void load_one_for_all(float* to, const float* from) {
  to[rank()] = from[blockIdx.x];
}
__global__ void load_rows_of_16(float* to, const float* from) {
  to[rank()] = from[threadIdx.x / 16 * 40 + threadIdx.x % 16 + blockIdx.x];
}
__global__ void load_rows_of_8(float* to, const float* from) {
  to[rank()] = from[threadIdx.x / 8 * 40 + threadIdx.x % 8 + blockIdx.x];
}
__global__ void load_2_floats(float2* to, const float2* from) {
  to[rank()] = from[rank()];
}
__global__ void load_4_floats(float4* to, const float4* from) {
  to[rank()] = from[rank()];
}
__global__ void load_4_floats_every_2nd(float4* to, const float4* from) {
  to[rank()] = from[2 * rank()];
}
__global__ void load_bytes(unsigned char* to, const unsigned char* from) {
  to[rank()] = from[rank()];
}
__global__ void load_halves(__half* to, const __half* from) {
  to[rank()] = from[rank()];
}
__global__ void load_2_halves(__half2* to, const __half2* from) {
  to[rank()] = from[rank()];
}
__global__ void load_4_members(float* to, const float4* __restrict__ from) {
  to[rank()] = from[rank()].x + from[rank()].y + from[rank()].z + from[rank()].w;
}
__global__ void load_4_neighbours(float* to, const float* __restrict__ from) {
  const float* mine = from + 4 * rank();
  to[rank()] = mine[0] + mine[1] + mine[2] + mine[3];
}
__global__ void load_members_apart(float4* to, const float4* from) {
  to[rank()].x = from[rank()].x;
  to[rank()].y = from[rank()].y;
}
__global__ void copy_bytes_aligned(float4* to, const float4* from) {
  memcpy(to + rank(), from + rank(), sizeof(float4));
}
__global__ void copy_bytes_of_floats(float* to, const float* from) {
  memcpy(to + 4 * rank(), from + 4 * rank(), sizeof(float4));
}

// ---- stores to global memory --------------------------------------------------------------------

__global__ void store_one_later(float* to) {
  to[rank() + 1] = 1.0f;
}
__global__ void store_every_2nd(float* to) {
  to[2 * rank()] = 1.0f;
}
__global__ void store_every_8th(float* to) {
  to[8 * rank()] = 1.0f;
}

// ---- divergence ---------------------------------------------------------------------------------

__global__ void ten_lanes(float* to, const float* from) {
  if (threadIdx.x % 32 < 10) to[rank()] = from[rank()];
}
__global__ void every_2nd_lane(float* to, const float* from) {
  if (threadIdx.x % 2 == 0) to[rank()] = from[rank()];
}
__global__ void two_branches(float* to, const float* from) {
  if (threadIdx.x % 32 < 16) {
    to[rank()] = from[rank()];
  } else {
    to[rank()] = from[2 * rank()] * 3.0f;
  }
}
__global__ void loop_by_lane(float* to, const float* from) {
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < static_cast<int>(threadIdx.x % 4); ++i) sum += from[rank() + 32 * i];
  to[rank()] = sum;
}
__global__ void early_return(float* to, const float* from) {
  if (threadIdx.x >= 100) return;
  to[rank()] = from[rank()];
}

// ---- shared memory ------------------------------------------------------------------------------

template <typename T>
__device__ void fill(T* tile, const T* from) {
  for (int i = threadIdx.x; i < 32 * 33; i += kThreads) tile[i] = from[i];
  __syncthreads();
}

__global__ void shared_side_by_side(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[threadIdx.x];
}
__global__ void shared_one_for_all(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[blockIdx.x];
}
__global__ void shared_every_2nd(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[2 * threadIdx.x];
}
__global__ void shared_every_3rd(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[3 * threadIdx.x];
}
__global__ void shared_every_8th(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[8 * threadIdx.x];
}
__global__ void shared_column(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[threadIdx.x % 32 * 32 + threadIdx.x / 32];
}
__global__ void shared_padded_column(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[threadIdx.x % 32 * 33 + threadIdx.x / 32];
}
__global__ void shared_2_floats(float2* to, const float2* from) {
  __shared__ float2 tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[threadIdx.x];
}
__global__ void shared_2_floats_every_2nd(float2* to, const float2* from) {
  __shared__ float2 tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[2 * threadIdx.x];
}
__global__ void shared_4_floats(float4* to, const float4* from) {
  __shared__ float4 tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[threadIdx.x];
}
__global__ void shared_4_floats_for_all(float4* to, const float4* from) {
  __shared__ float4 tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[blockIdx.x];
}
__global__ void shared_4_floats_every_2nd(float4* to, const float4* from) {
  __shared__ float4 tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[2 * threadIdx.x];
}
__global__ void shared_halves(__half* to, const __half* from) {
  __shared__ __half tile[32 * 33];
  fill(tile, from);
  to[rank()] = tile[threadIdx.x];
}
__global__ void shared_store_every_2nd(float* to, const float* from) {
  __shared__ float tile[2 * kThreads];
  tile[2 * threadIdx.x] = from[rank()];
  __syncthreads();
  to[rank()] = tile[(2 * threadIdx.x + 2) % (2 * kThreads)];
}
__global__ void shared_store_column(float* to, const float* from) {
  __shared__ float tile[32 * 32];
  tile[threadIdx.x % 32 * 32 + threadIdx.x / 32] = from[rank()];
  __syncthreads();
  to[rank()] = tile[(threadIdx.x + 1) % 32 * 32 + threadIdx.x / 32];
}
__global__ void shared_half_a_warp(float* to, const float* from) {
  __shared__ float tile[32 * 33];
  fill(tile, from);
  if (threadIdx.x % 32 < 16) to[rank()] = tile[2 * threadIdx.x];
}

// ---- constant memory, atomics, asynchronous copies, fragments -----------------------------------

__global__ void constant_by_lane(float* to) {
  to[rank()] = table[threadIdx.x % 4];
}
__global__ void atomic_own(float* to) {
  atomicAdd(to + rank(), 1.0f);
}
__global__ void atomic_by_8(float* to) {
  atomicAdd(to + rank() / 8, 1.0f);
}
__global__ void atomic_shared(float* to) {
  __shared__ float sum[32];
  if (threadIdx.x < 32) sum[threadIdx.x] = 0.0f;
  __syncthreads();
  atomicAdd(sum + threadIdx.x % 16, 1.0f);
  __syncthreads();
  if (threadIdx.x < 32) to[blockIdx.x * 32 + threadIdx.x] = sum[threadIdx.x];
}
__global__ void copy_4_bytes(float* to, const float* from) {
  __shared__ float tile[kThreads];
  __pipeline_memcpy_async(tile + threadIdx.x, from + rank(), 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  to[rank()] = tile[kThreads - 1 - threadIdx.x];
}
__global__ void copy_16_bytes(float4* to, const float4* from) {
  __shared__ float4 tile[kThreads];
  __pipeline_memcpy_async(tile + threadIdx.x, from + rank(), 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  to[rank()] = tile[kThreads - 1 - threadIdx.x];
}

// ---- multiply-adds: 16 of each thread -----------------------------------------------------------

__global__ void multiply_floats(float* to, const float* from) {
  const float factor = from[rank()];
  const float addend = from[0];
  float sum = factor;
  for (int i = 0; i < 16; ++i) sum = factor * sum + addend;
  to[rank()] = sum;
}
__global__ void multiply_halves(__half* to, const __half* from) {
  const __half factor = from[rank()];
  const __half addend = from[0];
  __half sum = factor;
  for (int i = 0; i < 16; ++i) sum = __hfma(factor, sum, addend);
  to[rank()] = sum;
}
__global__ void multiply_half_sums(__half* to, const __half* from) {
  const __half factor = from[rank()];
  const __half addend = from[0];
  __half sum = factor;
  for (int i = 0; i < 16; ++i) sum = factor * sum + addend;
  to[rank()] = sum;
}
__global__ void multiply_half_pairs(__half2* to, const __half2* from) {
  const __half2 factor = from[rank()];
  const __half2 addend = from[0];
  __half2 sum = factor;
  for (int i = 0; i < 16; ++i) sum = __hfma2(factor, sum, addend);
  to[rank()] = sum;
}

template <int kRow>
__device__ void multiply_tiles(float* to, const __half* tile) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(a, tile, kRow);
  wmma::load_matrix_sync(b, tile + 16 * kRow, kRow);
  wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(to + rank() / 32 * 256, sum, 16, wmma::mem_row_major);
}
__global__ void fragments_global(float* to, const __half* from) {
  multiply_tiles<16>(to, from);
}
__global__ void fragments_shared(float* to, const __half* from) {
  __shared__ __align__(32) __half tile[32 * 33];
  fill(tile, from);
  multiply_tiles<16>(to, tile);
}
__global__ void fragments_padded(float* to, const __half* from) {
  __shared__ __align__(32) __half tile[32 * 33];
  fill(tile, from);
  multiply_tiles<24>(to, tile);
}

class GlobalKernels final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* /*weights*/,
              const ConvShape& /*shape*/) override {
    const auto* two = reinterpret_cast<const float2*>(input);
    const auto* four = reinterpret_cast<const float4*>(input);
    const auto* halves = reinterpret_cast<const __half*>(input);
    auto* to_two = reinterpret_cast<float2*>(output);
    auto* to_four = reinterpret_cast<float4*>(output);
    auto* to_halves = reinterpret_cast<__half*>(output);
    load_side_by_side<<<kBlocks, kThreads>>>(output, input);
    load_one_later<<<kBlocks, kThreads>>>(output, input);
    load_seven_later<<<kBlocks, kThreads>>>(output, input);
    load_every_2nd<<<kBlocks, kThreads>>>(output, input);
    load_every_3rd<<<kBlocks, kThreads>>>(output, input);
    load_every_4th<<<kBlocks, kThreads>>>(output, input);
    load_every_8th<<<kBlocks, kThreads>>>(output, input);
    load_backwards<<<kBlocks, kThreads>>>(output, input);
    load_permuted<<<kBlocks, kThreads>>>(output, input);
    load_one_for_all<<<kBlocks, kThreads>>>(output, input);
    load_rows_of_16<<<kBlocks, kThreads>>>(output, input);
    load_rows_of_8<<<kBlocks, kThreads>>>(output, input);
    load_2_floats<<<kBlocks, kThreads>>>(to_two, two);
    load_4_floats<<<kBlocks, kThreads>>>(to_four, four);
    load_4_floats_every_2nd<<<kBlocks, kThreads>>>(to_four, four);
    load_bytes<<<kBlocks, kThreads>>>(reinterpret_cast<unsigned char*>(output),
                                      reinterpret_cast<const unsigned char*>(input));
    load_halves<<<kBlocks, kThreads>>>(to_halves, halves);
    const auto* pairs = reinterpret_cast<const __half2*>(input);
    load_2_halves<<<kBlocks, kThreads>>>(reinterpret_cast<__half2*>(output), pairs);
    load_4_members<<<kBlocks, kThreads>>>(output, four);
    load_4_neighbours<<<kBlocks, kThreads>>>(output, input);
    load_members_apart<<<kBlocks, kThreads>>>(to_four, four);
    copy_bytes_aligned<<<kBlocks, kThreads>>>(to_four, four);
    copy_bytes_of_floats<<<kBlocks, kThreads>>>(output, input);
    store_one_later<<<kBlocks, kThreads>>>(output);
    store_every_2nd<<<kBlocks, kThreads>>>(output);
    store_every_8th<<<kBlocks, kThreads>>>(output);
    ten_lanes<<<kBlocks, kThreads>>>(output, input);
    every_2nd_lane<<<kBlocks, kThreads>>>(output, input);
    two_branches<<<kBlocks, kThreads>>>(output, input);
    loop_by_lane<<<kBlocks, kThreads>>>(output, input);
    CONVLAB_CUDA_CHECK(cudaGetLastError());
  }
};

class SharedKernels final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* /*weights*/,
              const ConvShape& /*shape*/) override {
    const auto* two = reinterpret_cast<const float2*>(input);
    const auto* four = reinterpret_cast<const float4*>(input);
    const auto* halves = reinterpret_cast<const __half*>(input);
    auto* to_two = reinterpret_cast<float2*>(output);
    auto* to_four = reinterpret_cast<float4*>(output);
    auto* to_halves = reinterpret_cast<__half*>(output);
    shared_side_by_side<<<kBlocks, kThreads>>>(output, input);
    shared_one_for_all<<<kBlocks, kThreads>>>(output, input);
    shared_every_2nd<<<kBlocks, kThreads>>>(output, input);
    shared_every_3rd<<<kBlocks, kThreads>>>(output, input);
    shared_every_8th<<<kBlocks, kThreads>>>(output, input);
    shared_column<<<kBlocks, kThreads>>>(output, input);
    shared_padded_column<<<kBlocks, kThreads>>>(output, input);
    shared_2_floats<<<kBlocks, kThreads>>>(to_two, two);
    shared_2_floats_every_2nd<<<kBlocks, kThreads>>>(to_two, two);
    shared_4_floats<<<kBlocks, kThreads>>>(to_four, four);
    shared_4_floats_for_all<<<kBlocks, kThreads>>>(to_four, four);
    shared_4_floats_every_2nd<<<kBlocks, kThreads>>>(to_four, four);
    shared_halves<<<kBlocks, kThreads>>>(to_halves, halves);
    shared_store_every_2nd<<<kBlocks, kThreads>>>(output, input);
    shared_store_column<<<kBlocks, kThreads>>>(output, input);
    shared_half_a_warp<<<kBlocks, kThreads>>>(output, input);
    CONVLAB_CUDA_CHECK(cudaGetLastError());
  }
};

class OtherKernels final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* /*weights*/,
              const ConvShape& /*shape*/) override {
    const auto* four = reinterpret_cast<const float4*>(input);
    const auto* halves = reinterpret_cast<const __half*>(input);
    auto* to_four = reinterpret_cast<float4*>(output);
    early_return<<<kBlocks, kThreads>>>(output, input);
    constant_by_lane<<<kBlocks, kThreads>>>(output);
    atomic_own<<<kBlocks, kThreads>>>(output);
    atomic_by_8<<<kBlocks, kThreads>>>(output);
    atomic_shared<<<kBlocks, kThreads>>>(output);
    copy_4_bytes<<<kBlocks, kThreads>>>(output, input);
    copy_16_bytes<<<kBlocks, kThreads>>>(to_four, four);
    multiply_floats<<<kBlocks, kThreads>>>(output, input);
    multiply_halves<<<kBlocks, kThreads>>>(reinterpret_cast<__half*>(output), halves);
    multiply_half_sums<<<kBlocks, kThreads>>>(reinterpret_cast<__half*>(output), halves);
    multiply_half_pairs<<<kBlocks, kThreads>>>(reinterpret_cast<__half2*>(output),
                                               reinterpret_cast<const __half2*>(input));
    fragments_global<<<kBlocks, kThreads>>>(output, halves);
    fragments_shared<<<kBlocks, kThreads>>>(output, halves);
    fragments_padded<<<kBlocks, kThreads>>>(output, halves);
    CONVLAB_CUDA_CHECK(cudaGetLastError());
  }
};

const convlab::LadderStage<GlobalKernels> global_stage("micro-global", "Global memory");
const convlab::LadderStage<SharedKernels> shared_stage("micro-shared", "Shared memory");
const convlab::LadderStage<OtherKernels> other_stage("micro-other",
                                                     "Constants, atomics, fragments");

}  // namespace
