// Races of the lanes of a warp.

#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/emulation/trace/tests/race_pairs.hpp"

namespace {

namespace cg = cooperative_groups;
using convlab::RaceScope;
using convlab::emulation::Pair;

// ---- lanes of a warp ----------------------------------------------------------------------------

template <bool kRight>
__global__ void volatile_tree(float* data) {
  __shared__ float sums[64];
  volatile float* const s = sums;
  const unsigned t = threadIdx.x;
  s[t] = data[t];
  s[t + 32] = 0;
  __syncwarp();
  for (unsigned half = 16; half > 0; half /= 2) {
    const float other = s[t + half];  // second
    __syncwarp();
    s[t] = s[t] + other;  // first
    UNLESS_WRONG(__syncwarp())
  }
  data[32 + t] = s[t];
}

template <bool kRight>
__global__ void polls_what_is_atomic(float* data) {
  __shared__ int slot;
  if (threadIdx.x == 0) slot = 0;
  __syncwarp();
  volatile int* const polled = &slot;
  int seen = 1;
  if (kRight) seen = *polled;
  if (!kRight) seen = slot;               // first
  if (seen == 0) atomicCAS(&slot, 0, 1);  // second
  data[threadIdx.x] = 1;
}

template <bool kRight>
__global__ void tile_of_sixteen(float* data) {
  __shared__ float tile[32];
  const auto lanes = cg::tiled_partition<16>(cg::this_thread_block());
  const unsigned t = threadIdx.x;
  tile[t] = data[t];  // first
  lanes.sync();
  data[32 + t] = tile[kRight ? t ^ 15U : t ^ 31U];  // second
}

template <bool kRight>
__global__ void shuffle_is_no_barrier(float* data) {
  __shared__ float tile[32];
  const unsigned t = threadIdx.x;
  tile[t] = data[t];  // first
  const float sum = data[t] + __shfl_xor_sync(0xffffffffU, data[t], 1);
  UNLESS_WRONG(__syncwarp())
  data[32 + t] = tile[31 - t] + sum;  // second
}

template <bool kRight>
__global__ void fragment_loaded_too_early(__half* data, float* sums) {
  using namespace nvcuda;
  __shared__ __half tile[256];
  for (unsigned i = threadIdx.x; i < 256; i += 32) tile[i] = data[i];  // first
  UNLESS_WRONG(__syncwarp())
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::load_matrix_sync(a, tile, 16);  // second
  wmma::load_matrix_sync(b, data, 16);
  wmma::fill_fragment(c, 0.0F);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(sums, c, 16, wmma::mem_row_major);
}

template <bool kRight>
__global__ void fragment_read_too_early(float* sums) {
  using namespace nvcuda;
  __shared__ float tile[256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 2.0F);
  wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);  // first
  UNLESS_WRONG(__syncwarp())
  for (unsigned i = threadIdx.x; i < 256; i += 32) sums[i] = tile[i];  // second
}

template <bool kRight>
__global__ void fragment_overwritten(float* sums) {
  using namespace nvcuda;
  __shared__ float tile[256];
  const unsigned t = threadIdx.x;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  for (int slice = 0; slice < 2; ++slice) {
    for (unsigned i = t; i < 256; i += 32) tile[i] = sums[i] + static_cast<float>(slice);  // second
    __syncwarp();
    wmma::load_matrix_sync(c, tile, 16, wmma::mem_row_major);  // first
    UNLESS_WRONG(__syncwarp())
  }
  wmma::store_matrix_sync(sums, c, 16, wmma::mem_row_major);
}

}  // namespace

std::vector<Pair> convlab::emulation::race_pairs_in_warps() {
  return {
      KERNEL(volatile_tree, float, 1, 32, kWarp),
      KERNEL(polls_what_is_atomic, float, 1, 32, kWarp),
      KERNEL(tile_of_sixteen, float, 1, 32, kWarp),
      KERNEL(shuffle_is_no_barrier, float, 1, 32, kWarp),
      Pair{"fragment_loaded_too_early", RaceScope::kWarp,
           [](void* memory) {
             fragment_loaded_too_early<false>
                 <<<1, 32>>>(static_cast<__half*>(memory), static_cast<float*>(memory) + 1024);
           },
           [](void* memory) {
             fragment_loaded_too_early<true>
                 <<<1, 32>>>(static_cast<__half*>(memory), static_cast<float*>(memory) + 1024);
           }},
      KERNEL(fragment_read_too_early, float, 1, 32, kWarp),
      KERNEL(fragment_overwritten, float, 1, 32, kWarp),
  };
}
