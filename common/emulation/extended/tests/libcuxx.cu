// libcu++: barriers, pipelines, atomics and the standard library on the device.

#include <cooperative_groups.h>

#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "common/emulation/tests/features/sweep.hpp"

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace convlab::features {
namespace {

namespace cg = cooperative_groups;

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 256;

// ---- barriers -----------------------------------------------------------------------------------

__global__ void split(int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ int values[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) init(&barrier, kThreads);
  __syncthreads();
  values[t] = t * t;
  BlockBarrier::arrival_token token = barrier.arrive();
  int between = 0;
  for (int i = 0; i < t % 5; ++i) between += i;
  barrier.wait(cuda::std::move(token));
  out[t] = values[kThreads - 1 - t] + between;
}

/// Every second warp has its own barrier. In each round one warp leaves the block's barrier.
__global__ void parts(int* out) {
  __shared__ BlockBarrier odd;
  __shared__ BlockBarrier all;
  __shared__ int values[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  const int warp = t / 32;
  if (t == 0) {
    init(&odd, kThreads / 2);
    init(&all, kThreads);
  }
  values[t] = 0;
  __syncthreads();
  if (warp % 2 == 1) {
    values[t] = t;
    odd.arrive_and_wait();
    values[t - 32] = values[(t + 64) % kThreads];
    odd.arrive_and_wait();
  }
  __syncthreads();
  for (int round = 0; round < warp; ++round) {
    atomicAdd(&values[round], 1);
    all.wait(all.arrive());
  }
  all.arrive_and_drop();
  __syncthreads();
  out[t] = values[t];
}

const Register kSplit{"libcu++", "barrier: arrive, work, wait",
                      [] { return results_of(split, 1, kThreads, kThreads); }};
const Register kParts{"libcu++", "barriers of parts of a block, arrive_and_drop",
                      [] { return results_of(parts, 1, kThreads, kThreads); }};

// ---- copies -------------------------------------------------------------------------------------

__global__ void copy_with_barrier(const float* in, float* out) {
  __shared__ BlockBarrier barrier;
  __shared__ alignas(16) float tile[4 * kThreads];
  const cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  for (int round = 0; round < 3; ++round) {
    const float* from = in + round * 4 * kThreads;
    if (round == 0) {
      cuda::memcpy_async(block, tile, from, cuda::aligned_size_t<16>(sizeof tile), barrier);
    } else if (round == 1) {
      cuda::memcpy_async(block, tile, from, sizeof tile - 12, barrier);
    } else {
      cuda::memcpy_async(tile + 4 * threadIdx.x, from + 4 * threadIdx.x, sizeof(float4), barrier);
    }
    barrier.arrive_and_wait();
    for (unsigned i = 0; i < 4; ++i)
      out[round * 4 * kThreads + 4 * threadIdx.x + i] = tile[(4 * threadIdx.x + i + 100) % (4 * kThreads)] + 1;
    barrier.arrive_and_wait();
  }
}

const Register kBarrierCopies{"libcu++", "memcpy_async and a barrier", [] {
  constexpr int kCount = 3 * 4 * kThreads;
  return results_from(some_floats(kCount), copy_with_barrier, 1, kThreads, kCount);
}};

/// Sums a tile while the next one is copied. Each thread waits for its own copies.
__global__ void thread_pipeline(const float* in, float* out, int tiles) {
  __shared__ float tile[2][kThreads];
  auto pipe = cuda::make_pipeline();
  const unsigned t = threadIdx.x;
  pipe.producer_acquire();
  cuda::memcpy_async(&tile[0][t], &in[t], sizeof(float), pipe);
  pipe.producer_commit();
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tile[(i + 1) % 2][t], &in[static_cast<unsigned>(i + 1) * kThreads + t],
                         cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    __syncthreads();
    sum += tile[i % 2][(t + 1) % kThreads];
    __syncthreads();
    pipe.consumer_release();
  }
  out[t] = sum;
}

__global__ void wait_prior(const float* in, float* out) {
  __shared__ float tile[3][kThreads];
  auto pipe = cuda::make_pipeline();
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 3; ++i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[i][t], &in[i * kThreads + t], sizeof(float), pipe);
    pipe.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<1>(pipe);
  __syncthreads();
  const float early = tile[0][kThreads - 1 - t] + tile[1][t / 2];
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();
  out[t] = early * tile[2][t / 3];
}

const Register kThreadPipeline{"libcu++", "pipeline of one thread, double buffering", [] {
  return results_from(some_floats(9 * kThreads), thread_pipeline, 1, kThreads, kThreads, 9);
}};
const Register kWaitPrior{"libcu++", "pipeline_consumer_wait_prior", [] {
  return results_from(some_floats(3 * kThreads), wait_prior, 1, kThreads, kThreads);
}};
// ---- atomics ------------------------------------------------------------------------------------

__device__ cuda::atomic<int, cuda::thread_scope_device> grid_count{5};

__global__ void references(int* integers, float* sum, unsigned long long* large) {
  __shared__ int local[4];
  if (threadIdx.x < 4) local[threadIdx.x] = 0;
  __syncthreads();
  const int t = static_cast<int>(threadIdx.x);
  cuda::atomic_ref<int, cuda::thread_scope_block> count(local[0]);
  count.fetch_add(t);
  cuda::atomic_ref<int, cuda::thread_scope_block> most(local[1]);
  most.fetch_max(t * 37 % 101, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_block>(local[2]) ^= 1 << t % 31;
  int seen = local[3];
  cuda::atomic_ref<int, cuda::thread_scope_block> looped(local[3]);
  while (!looped.compare_exchange_weak(seen, seen + 3, cuda::std::memory_order_relaxed)) {
  }
  __syncthreads();
  if (t < 4) cuda::atomic_ref<int, cuda::thread_scope_device>(integers[t]).fetch_add(local[t]);
  cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(0.25F);
  cuda::atomic_ref<unsigned long long>(*large).fetch_min(static_cast<unsigned long long>(t) + 3 * blockIdx.x);
  ++grid_count;
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}

__global__ void shared_atomic(int* out) {
  __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> bits;
  if (threadIdx.x == 0) bits.store(0, cuda::std::memory_order_relaxed);
  __syncthreads();
  bits |= 1U << threadIdx.x % 32U;
  __syncthreads();
  bits.fetch_and(0xffff0fffU);
  __syncthreads();
  const unsigned now = bits.load();
  out[threadIdx.x] = static_cast<int>(now) + grid_count.load();
}

const Register kReferences{"libcu++", "atomic_ref: add, min, max, xor, compare_exchange", [] {
  DeviceArray<int> integers(4);
  DeviceArray<float> sum(1);
  DeviceArray<unsigned long long> large(std::vector<unsigned long long>{1ULL << 40});
  references<<<6, 128>>>(integers.data(), sum.data(), large.data());
  Bits bits = integers.bits();
  for (const Bits& more : {sum.bits(), large.bits()}) bits.insert(bits.end(), more.begin(), more.end());
  return bits;
}};
const Register kAtomic{"libcu++", "atomic: shared and global variables", [] {
  DeviceArray<int> integers(4);
  DeviceArray<float> sum(1);
  DeviceArray<unsigned long long> large(1);
  DeviceArray<int> out(128);
  // Once more, so that the row does not depend on the one before.
  const int before = 5;
  require(cudaMemcpyToSymbol(grid_count, &before, sizeof before), "cudaMemcpyToSymbol");
  references<<<6, 128>>>(integers.data(), sum.data(), large.data());
  shared_atomic<<<1, 128>>>(out.data());
  return out.bits();
}};

// ---- latches, semaphores, waiting for a value ---------------------------------------------------

template <class T>
struct Room {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ T* object() { return reinterpret_cast<T*>(bytes); }
};

__global__ void waiting(int* out) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
  using Number = cuda::atomic<int, cuda::thread_scope_block>;
  __shared__ Room<Latch> latch;
  __shared__ Room<Semaphore> semaphore;
  __shared__ Room<Number> flag;
  __shared__ int sum, guarded, message;
  if (threadIdx.x == 0) {
    new (latch.bytes) Latch(blockDim.x);
    new (semaphore.bytes) Semaphore(1);
    new (flag.bytes) Number(0);
    sum = guarded = message = 0;
  }
  __syncthreads();
  atomicAdd(&sum, static_cast<int>(threadIdx.x));
  latch.object()->arrive_and_wait();
  out[threadIdx.x] = sum;
  if (threadIdx.x % 32 == 0) {
    semaphore.object()->acquire();
    guarded = guarded * 2 + 1;
    semaphore.object()->release();
  }
  if (threadIdx.x == 64) {
    message = 77;
    flag.object()->store(1);
    flag.object()->notify_all();
  }
  if (threadIdx.x == 0) {
    flag.object()->wait(0);
    out[1] = message;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[2] = guarded;
}

const Register kWaiting{"libcu++", "latch, semaphore, atomic: wait", [] {
  DeviceArray<int> out(96);
  waiting<<<1, 96>>>(out.data());
  return out.bits();
}};

// ---- cuda::std ----------------------------------------------------------------------------------

__device__ cuda::std::optional<int> half_of(int x) {
  if (x % 2 != 0) return cuda::std::nullopt;
  return x / 2;
}

__global__ void standard(const float* in, float* out) {
  const unsigned t = threadIdx.x;
  cuda::std::array<float, 4> values{in[t], 1.0F, 2.0F, cuda::std::numeric_limits<float>::max()};
  cuda::std::span<float> view(values.data(), 3);
  float sum = 0;
  for (const float value : view) sum += value;
  const auto pair = cuda::std::make_tuple(sum, static_cast<int>(t));
  float root = cuda::std::sqrt(cuda::std::fabs(cuda::std::get<0>(pair)));
  cuda::std::swap(root, values[1]);
  const int half = half_of(static_cast<int>(t)).value_or(-1);
  static_assert(cuda::std::is_same<cuda::std::remove_const_t<const int>, int>::value, "a type");
  out[t] = root + values[1] + static_cast<float>(half + cuda::std::popcount(t) + cuda::std::get<1>(pair));
}

const Register kStandard{"libcu++", "cuda::std: array, span, tuple, optional, limits, cmath, bit",
                         [] { return results_from(some_floats(128), standard, 1, 128, 128); }};

}  // namespace
}  // namespace convlab::features
