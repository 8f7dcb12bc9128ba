// libcu++'s barriers and pipelines: right uses and faults.

#include <cooperative_groups.h>

#include <cmath>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <string>
#include <vector>

#include "common/emulation/tests/fault_reports.hpp"

namespace {

namespace cg = cooperative_groups;
using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 64;

struct Outcome {
  cudaError_t error;
  std::string report;
  std::vector<float> values;

  [[nodiscard]] bool has(const std::string& words) const {
    return report.find(words) != std::string::npos;
  }
};

/// Runs kernel(in, out) with in = 1, 2, 3, … in one block of kThreads.
template <class Kernel>
Outcome run(Kernel kernel) {
  Outcome outcome;
  const convlab::emulation::Reports reports;
  float* in = nullptr;
  REQUIRE(cudaMallocManaged(&in, 9 * kThreads * sizeof(float)) == cudaSuccess);
  for (int i = 0; i < 8 * kThreads; ++i) in[i] = static_cast<float>(i + 1);
  float* const out = in + 8 * kThreads;
  kernel<<<1, kThreads>>>(in, out);
  outcome.error = cudaDeviceSynchronize();
  outcome.values.assign(out, out + kThreads);
  outcome.report = reports.text();
  return outcome;
}

// ---- barriers -----------------------------------------------------------------------------------

/// @tparam kComing  threads that reach the barrier; it expects kExpected
template <int kExpected, int kComing>
__global__ void meet(const float* in, float* out) {
  __shared__ BlockBarrier barrier;
  __shared__ float values[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0 && kExpected > 0) init(&barrier, kExpected);
  __syncthreads();
  values[t] = in[t];
  if (t < kComing) barrier.arrive_and_wait();
  out[t] = values[(t + 1) % kThreads];
}

__global__ void copy_by_barrier(const float* in, float* out) {
  __shared__ BlockBarrier barrier;
  __shared__ alignas(16) float tile[kThreads];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, kThreads);
  block.sync();
  cuda::memcpy_async(block, tile, in + 4, cuda::aligned_size_t<16>(sizeof tile), barrier);
  auto token = barrier.arrive();
  const float before = tile[kThreads - 1 - threadIdx.x];
  barrier.wait(std::move(token));
  // The last thread opens the barrier and can read the copy at once.
  const bool last = threadIdx.x == kThreads - 1;
  out[threadIdx.x] = std::isnan(before) || last ? tile[kThreads - 1 - threadIdx.x] : -1;
}

__global__ void overfull(const float*, float*) {
  __shared__ BlockBarrier barrier;
  if (threadIdx.x != 0) return;
  init(&barrier, 3);
  static_cast<void>(barrier.arrive(2));
  static_cast<void>(barrier.arrive(2));
}

// ---- pipelines ----------------------------------------------------------------------------------

__global__ void one_thread(const float* in, float* out) {
  __shared__ float tile[2][kThreads];
  auto pipe = cuda::make_pipeline();
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 2; ++i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[i][t], &in[i * kThreads + t], sizeof(float), pipe);
    pipe.producer_commit();
  }
  bool early = !std::isnan(tile[0][t]);
  pipe.consumer_wait();
  early = early || !std::isnan(tile[1][t]);
  pipe.consumer_wait();
  out[t] = early ? -1 : tile[0][t] + tile[1][t];
}

}  // namespace

TEST_CASE("libcu++: a barrier for which somebody is missing is a deadlock with places") {
  const Outcome outcome = run(meet<kThreads, kThreads - 1>);
  CHECK(outcome.error == cudaErrorLaunchTimeout);
  INFO(outcome.report);
  CHECK(outcome.has("63 threads waiting in barrier::wait at "));
  CHECK(outcome.has("test_libcuxx.cu:57"));
  CHECK(outcome.has("1 thread ended: (63,0,0)"));
}

TEST_CASE("libcu++: barriers that are misused say so") {
  CHECK(run(meet<kThreads - 1, kThreads>).error == cudaErrorLaunchTimeout);
  CHECK(run(overfull).has("more threads arrive at a barrier than it expects"));
  const Outcome fresh = run(meet<0, kThreads>);
  CHECK(fresh.error == cudaErrorLaunchFailure);
  CHECK(fresh.has("a barrier is used before init()"));
  const Outcome few = run(meet<32, 48>);
  CHECK(few.error == cudaErrorLaunchTimeout);
}

TEST_CASE("libcu++: a copy is there when its barrier opens, and not before") {
  const Outcome outcome = run(copy_by_barrier);
  CHECK(outcome.error == cudaSuccess);
  for (int t = 0; t < kThreads; ++t)
    CHECK(outcome.values[static_cast<std::size_t>(t)] == static_cast<float>(kThreads - t + 4));
}

TEST_CASE("libcu++: who does not wait for a thread's pipeline reads what was there before") {
  const Outcome outcome = run(one_thread);
  CHECK(outcome.error == cudaSuccess);
  for (int t = 0; t < kThreads; ++t)
    CHECK(outcome.values[static_cast<std::size_t>(t)] == static_cast<float>(2 * t + 2 + kThreads));
}
