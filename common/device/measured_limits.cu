#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <vector>

#include "common/device/cuda_check.cuh"
#include "common/device/cuda_event.cuh"
#include "common/device/cuda_session.hpp"
#include "common/device/device_buffer.cuh"
#include "common/timing/statistics.hpp"

namespace convlab {

namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 8;  // all the threads that it holds
constexpr int kRounds = 512;

// Independent chains of multiply-adds, so that no unit waits.
constexpr int kChains = 8;
constexpr int kSteps = 16;

__global__ void multiply_add(float* sink, float factor, float summand) {
  float value[kChains];
  for (int i = 0; i < kChains; ++i) value[i] = static_cast<float>(threadIdx.x + i);
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) value[i] = fmaf(value[i], factor, summand);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < kChains; ++i) sum += value[i];
  if (sum == -1.0f) *sink = sum;  // never, which the compiler cannot know
}

constexpr int kFragments = 4;
constexpr int kEdge = 16;

__global__ void multiply_add_half(float* sink, float factor) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, kEdge, kEdge, kEdge, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, kEdge, kEdge, kEdge, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, kEdge, kEdge, kEdge, float> sum[kFragments];
  wmma::fill_fragment(left, __float2half(factor));
  wmma::fill_fragment(right, __float2half(factor));
  // All different and all used; otherwise the compiler merges or drops some.
  for (int i = 0; i < kFragments; ++i) wmma::fill_fragment(sum[i], static_cast<float>(i));
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kFragments; ++i) wmma::mma_sync(sum[i], left, right, sum[i]);
  }
  float total = 0.0f;
  for (int i = 0; i < kFragments; ++i) {
    for (int j = 0; j < sum[i].num_elements; ++j) total += sum[i].x[j];
  }
  if (total == -1.0f) *sink = total;
}

// Median seconds of `work` on the device, after calls that let its clock rise.
template <class Work>
double seconds_of(Work work) {
  constexpr int kWarmUps = 3;
  constexpr int kSamples = 7;
  CudaEvent start;
  CudaEvent stop;
  std::vector<double> samples;
  for (int i = 0; i < kWarmUps + kSamples; ++i) {
    start.record();
    work();
    stop.record();
    stop.wait();
    if (i >= kWarmUps) samples.push_back(stop.milliseconds_since(start) * 1e-3);
  }
  return spread_of(samples).median;
}

// A copy reads and writes; its arrays are many times as large as the cache.
double copied_bytes_per_second(const DeviceInfo& info) {
  std::size_t free = 0;
  std::size_t total = 0;
  CONVLAB_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const std::int64_t wanted = std::max<std::int64_t>(16 * info.l2_bytes, std::int64_t{256} << 20);
  const std::int64_t size = std::min<std::int64_t>(wanted, free / 4);
  DeviceBuffer<char> from(size);
  DeviceBuffer<char> to(size);
  CONVLAB_CUDA_CHECK(cudaMemset(from.data(), 0, size));
  const double seconds = seconds_of([&] {
    CONVLAB_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), size, cudaMemcpyDeviceToDevice));
  });
  return 2.0 * static_cast<double>(size) / seconds;
}

}  // namespace

DeviceLimits measure_limits(const DeviceInfo& info) {
  DeviceLimits limits;
  const int blocks = kBlocksPerMultiprocessor * info.multiprocessors;
  const double threads = static_cast<double>(blocks) * kThreads;
  DeviceBuffer<float> sink(1);
  limits.bytes_per_second = copied_bytes_per_second(info);
  limits.fp32_per_second = 2.0 * threads * kRounds * kSteps * kChains / seconds_of([&] {
                             multiply_add<<<blocks, kThreads>>>(sink.data(), 0.5f, 1.0f);
                             CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
                           });
  if (!(info.capability < ComputeCapability{7, 0})) {
    limits.fp16_per_second =
        2.0 * (threads / 32) * kRounds * kFragments * kEdge * kEdge * kEdge / seconds_of([&] {
          multiply_add_half<<<blocks, kThreads>>>(sink.data(), 0.5f);
          CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
        });
  }
  return limits;
}

}  // namespace convlab
