// Races that a barrier of the block, an atomic operation or a pipeline prevents.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cuda/barrier>

#include "common/emulation/trace/tests/race_pairs.hpp"

namespace {

using convlab::RaceScope;
using convlab::emulation::kBlocks;
using convlab::emulation::kThreads;
using convlab::emulation::Pair;

// ---- barriers of a block ------------------------------------------------------------------------

template <bool kRight>
__global__ void bytes_at_once(float* data) {
  __shared__ unsigned char flags[kThreads];
  const unsigned t = threadIdx.x;
  flags[t] = static_cast<unsigned char>(data[t]);  // first
  UNLESS_WRONG(__syncthreads())
  data[t] = flags[kThreads - 1 - t];  // second
}

template <bool kRight>
__global__ void threads_that_return(float* data) {
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  tile[t] = data[t];  // first
  if (t >= 96) return;
  UNLESS_WRONG(__syncthreads())
  data[kThreads + t] = tile[t + 32];  // second
}

// ---- one element for several threads ------------------------------------------------------------

template <bool kRight>
__global__ void warps_share_sums(float* data) {
  __shared__ float sums[kRight ? kThreads : 32];
  const unsigned t = threadIdx.x;
  float* const own = kRight ? sums + t / 32 * 32 : sums;
  own[t % 32] = data[t] + static_cast<float>(t);  // twice
  __syncwarp();
  data[kThreads + t] = own[31 - t % 32];
}

template <bool kRight>
__global__ void atomic_and_plain(int* data) {
  atomicAdd(data, 1);  // first
  UNLESS_WRONG(__syncthreads())
  if (threadIdx.x == 0) data[1] = *data;  // second
}

template <bool kRight>
__global__ void clear_and_add(int* data) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;  // first
  UNLESS_WRONG(__syncthreads())
  atomicAdd(&sum, 1);  // second
  __syncthreads();
  data[threadIdx.x] = sum;
}

__device__ int counter_of_blocks;

template <bool kRight>
__global__ void device_variable(int* data) {
  if (threadIdx.x != 0) return;
  if constexpr (kRight) {
    data[blockIdx.x] = atomicAdd(&counter_of_blocks, 1);
  } else {
    data[blockIdx.x] = counter_of_blocks++;  // twice
  }
}

// ---- asynchronous copies, barriers and pipelines of libcu++ -------------------------------------

template <bool kRight>
__global__ void barrier_before_the_wait(float* data) {
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  __pipeline_memcpy_async(tile + t, data + t, 4);  // first
  __pipeline_commit();
  if constexpr (!kRight) __syncthreads();
  __pipeline_wait_prior(0);
  UNLESS_WRONG(__syncthreads())
  data[kThreads + t] = tile[kThreads - 1 - t];  // second
}

template <bool kRight>
__global__ void copy_into_what_others_read(float* data) {
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  float sum = 0;
  for (int slice = 0; slice < 2; ++slice) {
    __pipeline_memcpy_async(tile + t, data + t, 4);  // second
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += tile[kThreads - 1 - t];  // first
    UNLESS_WRONG(__syncthreads())
  }
  data[kThreads + t] = sum;
}

template <bool kRight>
__global__ void barrier_of_libcuxx(float* data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  if (t == 0) init(&barrier, kThreads);
  __syncthreads();
  tile[t] = data[t];  // first
  if constexpr (kRight) {
    barrier.arrive_and_wait();
  } else {
    static_cast<void>(barrier.arrive());
  }
  data[kThreads + t] = tile[kThreads - 1 - t];  // second
}

template <bool kRight>
__global__ void producer_and_consumer(float* data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  __shared__ cuda::barrier<cuda::thread_scope_block> empty;
  __shared__ float tile[64];
  const unsigned t = threadIdx.x;
  if (t == 0) {
    init(&full, kThreads);
    init(&empty, kThreads);
  }
  __syncthreads();
  for (int slice = 0; slice < 3; ++slice) {
    if (t < 64) {
      if (slice > 0) {
        auto token = empty.arrive();
        UNLESS_WRONG(empty.wait(std::move(token)))
      }
      tile[t] = data[t] + static_cast<float>(slice);  // first
      full.arrive_and_wait();
    } else {
      full.arrive_and_wait();
      data[kThreads + t] += tile[127 - t];  // second
      if (slice < 2) static_cast<void>(empty.arrive());
    }
  }
}

/// Each half of the block has a barrier of its own.
template <bool kRight>
__global__ void numbered_barriers(float* data) {
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  const unsigned half = t / 64;
  for (unsigned round = 0; round < 2 + half; ++round) {
    tile[t] = data[t];  // first
    UNLESS_WRONG(asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory"))
    data[kThreads + t] = tile[t ^ 63U];  // second
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
  }
}

template <bool kRight>
__global__ void copy_with_a_barrier(float* data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  if (t == 0) init(&barrier, kThreads);
  __syncthreads();
  cuda::memcpy_async(tile + t, data + t, sizeof(float), barrier);  // first
  auto token = barrier.arrive();
  UNLESS_WRONG(barrier.wait(std::move(token)))
  data[kThreads + t] = tile[kThreads - 1 - t];  // second
}

// ---- patterns of courses ------------------------------------------------------------------------

template <bool kRight>
__global__ void a_vote_is_no_barrier(float* data) {
  __shared__ float tile[kThreads];
  const unsigned t = threadIdx.x;
  tile[t] = data[t];  // first
  const int some = kRight ? __syncthreads_or(data[t] > 0) : __any_sync(0xffffffffU, data[t] > 0);
  data[kThreads + t] = tile[kThreads - 1 - t] + static_cast<float>(some);  // second
}

template <bool kRight>
__global__ void flag_in_a_block(float* data) {
  __shared__ float value;
  __shared__ unsigned ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = data[0];  // first
    UNLESS_WRONG(__threadfence_block())
    atomicExch(&ready, 1U);
  } else if (threadIdx.x == 64 && atomicAdd(&ready, 0U) == 1U) {
    UNLESS_WRONG(__threadfence_block())
    data[1] = value;  // second
  }
}

template <bool kRight>
__global__ void two_warps_in_step(float* data) {
  __shared__ volatile float tile[128];
  const unsigned t = threadIdx.x;
  tile[t] = data[t];
  __syncthreads();
  if (t < 64) tile[t] = tile[t] + tile[t + 64];  // first
  UNLESS_WRONG(__syncthreads())
  if (t < 32) data[kThreads + t] = tile[t] + tile[t + 32];  // second
}

}  // namespace

std::vector<Pair> convlab::emulation::race_pairs_in_blocks() {
  return {
      KERNEL(bytes_at_once, float, 1, kThreads, kBlock),
      KERNEL(threads_that_return, float, 1, kThreads, kBlock),
      KERNEL(warps_share_sums, float, 1, kThreads, kBlock),
      KERNEL(atomic_and_plain, int, 1, kThreads, kBlock),
      KERNEL(clear_and_add, int, 1, kThreads, kBlock),
      KERNEL(device_variable, int, kBlocks, kThreads, kGrid),
      KERNEL(barrier_before_the_wait, float, 1, kThreads, kBlock),
      KERNEL(copy_into_what_others_read, float, 1, kThreads, kBlock),
      KERNEL(barrier_of_libcuxx, float, 1, kThreads, kBlock),
      KERNEL(producer_and_consumer, float, 1, kThreads, kBlock),
      KERNEL(numbered_barriers, float, 1, kThreads, kBlock),
      KERNEL(copy_with_a_barrier, float, 1, kThreads, kBlock),
      KERNEL(a_vote_is_no_barrier, float, 1, kThreads, kBlock),
      KERNEL(flag_in_a_block, float, 1, kThreads, kBlock).only_forward(),
      KERNEL(two_warps_in_step, float, 1, kThreads, kBlock),
  };
}
