// Races of blocks of one kernel, and of kernels in several streams.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cuda/atomic>

#include "common/emulation/trace/tests/race_pairs.hpp"

namespace {

namespace cg = cooperative_groups;
using convlab::RaceScope;
using convlab::emulation::kBlocks;
using convlab::emulation::kThreads;
using convlab::emulation::Pair;

// ---- between blocks -----------------------------------------------------------------------------

template <bool kRight>
__global__ void sum_by_compare_and_swap(float* data) {
  auto* const sum = reinterpret_cast<int*>(data);
  if (threadIdx.x != 0) return;
  int old = *sum;  // first
  if constexpr (kRight) {
    for (int assumed = ~old; assumed != old;) {
      assumed = old;
      old = atomicCAS(sum, assumed, assumed + 1);
    }
  } else {
    atomicExch(sum, old + 1);  // second
  }
}

template <bool kRight>
__global__ void neighbour_block(float* data) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float* const to = kRight ? data + kBlocks * kThreads : data;
  to[i] = 1.0F;                                                        // first
  if (i >= kThreads) to[i + kBlocks * kThreads] = data[i - kThreads];  // second
}

template <bool kRight>
__global__ void last_block(float* data, unsigned* ticket) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = static_cast<float>(blockIdx.x);  // first
    UNLESS_WRONG(__threadfence())
    is_last = atomicAdd(ticket, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x < gridDim.x) data[8 + threadIdx.x] = data[threadIdx.x];  // second
}

/// The last block may clear its ticket for the next launch: it comes after all others.
template <bool kRight>
__global__ void ticket_cleared(float* /*data*/, unsigned* ticket) {
  if (threadIdx.x != 0) return;
  const bool is_last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;  // first
  if (kRight ? is_last : blockIdx.x == 1) *ticket = 0;                 // second
}

template <bool kRight>
__global__ void flag_between_blocks(float* data, unsigned* flag) {
  volatile unsigned* const ready = flag;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 3.0F;  // first
    UNLESS_WRONG(__threadfence())
    *ready = 1;
  } else if (*ready == 1) {
    data[blockIdx.x] = data[0];  // second
  }
}

template <bool kRight>
__global__ void ordered_by_atomic(float* data, unsigned* flag) {
  const cuda::atomic_ref<unsigned> ready(*flag);
  constexpr auto kStore = kRight ? cuda::memory_order_release : cuda::memory_order_relaxed;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 3.0F;  // first
    ready.store(1, kStore);
  } else if (ready.load(cuda::memory_order_acquire) == 1) {
    data[blockIdx.x] = data[0];  // second
  }
}

template <bool kRight>
__global__ void lock(float* data, unsigned* taken) {
  if (threadIdx.x != 0) return;
  if constexpr (kRight) {
    while (atomicCAS(taken, 0U, 1U) != 0U) {
    }
  }
  data[0] += 1.0F;  // twice
  if constexpr (kRight) {
    __threadfence();
    atomicExch(taken, 0U);
  }
}

template <bool kRight>
__global__ void one_fences_before_the_barrier(float* data, unsigned* ticket) {
  __shared__ bool is_last;
  data[blockIdx.x * kThreads + threadIdx.x] = 1.0F;  // first
  if constexpr (!kRight) {
    if (threadIdx.x == 0) __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    UNLESS_WRONG(__threadfence())
    is_last = atomicAdd(ticket, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) data[kBlocks * kThreads + threadIdx.x] = data[threadIdx.x * kBlocks];  // second
}

/// As a flag it would be right; a sum it is none.
template <bool kRight>
__global__ void volatile_sum(float* data, unsigned* /*flag*/) {
  if (threadIdx.x != 0) return;
  volatile float* const sum = data;
  if constexpr (kRight)
    atomicAdd(data, 1.0F);
  else
    *sum = *sum + 1.0F;  // twice
}

/// The lock orders what stands within it only.
template <bool kRight>
__global__ void volatile_after_the_lock(float* data, unsigned* taken) {
  if (threadIdx.x != 0) return;
  volatile float* const sum = data;
  while (atomicCAS(taken, 0U, 1U) != 0U) {
  }
  __threadfence();
  const float before = *sum;  // first
  if (kRight && blockIdx.x == 0) *sum = before + 1.0F;
  __threadfence();
  atomicExch(taken, 0U);
  if (!kRight && blockIdx.x == 0) *sum = before + 1.0F;  // second
}

template <bool kRight>
__global__ void fence_of_a_block(float* data, unsigned* ticket) {
  if (threadIdx.x != 0) return;
  data[blockIdx.x] = 1.0F;  // first
  if constexpr (kRight)
    __threadfence();
  else
    __threadfence_block();
  if (atomicAdd(ticket, 1U) == gridDim.x - 1) data[8] = data[0] + data[kBlocks - 1];  // second
}

template <bool kRight>
__global__ void atomic_of_a_block(float* data, unsigned* /*ticket*/) {
  if constexpr (kRight)
    atomicAdd(data, 1.0F);
  else
    atomicAdd_block(data, 1.0F);  // twice
}

// ---- grid.sync() --------------------------------------------------------------------------------

template <bool kRight>
__global__ void next_block(float* data) {
  const bool one = threadIdx.x == 0;
  if (one) data[blockIdx.x] = static_cast<float>(blockIdx.x + 1);  // first
  UNLESS_WRONG(cg::this_grid().sync())
  if (one) data[64 + blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];  // second
}

template <bool kRight>
void grid_sync(void* memory) {
  auto* data = static_cast<float*>(memory);
  void* arguments[] = {&data};
  cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(next_block<kRight>), dim3(kBlocks),
                              dim3(32), arguments, 0, nullptr);
}

// ---- kernels and streams ------------------------------------------------------------------------

__global__ void fill(float* data) {
  data[threadIdx.x] = 1.0F;  // first
}
__global__ void twice(float* data) {
  data[kThreads + threadIdx.x] = data[threadIdx.x] * 2.0F;  // second
}

struct Streams {
  explicit Streams(unsigned flags = cudaStreamDefault) {
    cudaStreamCreateWithFlags(&a, flags);
    cudaStreamCreate(&b);
    cudaEventCreate(&event);
  }
  ~Streams() {
    cudaDeviceSynchronize();
    cudaEventDestroy(event);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
  cudaStream_t a{};
  cudaStream_t b{};
  cudaEvent_t event{};
};

template <bool kRight>
void recorded_too_early(void* memory) {
  auto* const data = static_cast<float*>(memory);
  const Streams streams;
  if constexpr (!kRight) cudaEventRecord(streams.event, streams.a);
  fill<<<1, kThreads, 0, streams.a>>>(data);
  UNLESS_WRONG(cudaEventRecord(streams.event, streams.a))
  cudaStreamWaitEvent(streams.b, streams.event);
  twice<<<1, kThreads, 0, streams.b>>>(data);
}

template <bool kRight>
void host_waits(void* memory) {
  auto* const data = static_cast<float*>(memory);
  const Streams streams;
  fill<<<1, kThreads, 0, streams.a>>>(data);
  UNLESS_WRONG(cudaStreamSynchronize(streams.a))
  twice<<<1, kThreads, 0, streams.b>>>(data);
}

template <bool kRight>
void stream_beside_the_default(void* memory) {
  auto* const data = static_cast<float*>(memory);
  const Streams streams(kRight ? cudaStreamDefault : cudaStreamNonBlocking);
  fill<<<1, kThreads, 0, streams.a>>>(data);
  twice<<<1, kThreads>>>(data);
}

}  // namespace

std::vector<Pair> convlab::emulation::race_pairs_of_blocks() {
  return {
      KERNEL(neighbour_block, float, kBlocks, kThreads, kGrid),
      KERNEL(sum_by_compare_and_swap, float, kBlocks, kThreads, kGrid),
      WITH_FLAG(ticket_cleared),
      WITH_FLAG(last_block),
      WITH_FLAG(flag_between_blocks).only_forward(),
      WITH_FLAG(ordered_by_atomic).only_forward(),
      WITH_FLAG(lock),
      WITH_FLAG(one_fences_before_the_barrier),
      WITH_FLAG(volatile_sum),
      WITH_FLAG(volatile_after_the_lock).only_forward(),
      WITH_FLAG(fence_of_a_block),
      WITH_FLAG(atomic_of_a_block),
      HOST(grid_sync, kGrid),
      HOST(recorded_too_early, kStreams),
      HOST(host_waits, kStreams),
      HOST(stream_beside_the_default, kStreams),
  };
}
