#pragma once

// A layer of 16 maps for few images: a block computes one image or a part of one.
//
// half_convolution.cuh hides the time of a load behind the image before. Here a block has no image
// before, so it must wait as rarely as possible. It starts all loads, of weights and input, before
// it uses the first value. It converts the values to halves in registers and stores them in shared
// memory. After one barrier the products begin.

#include <cuda_runtime.h>

#include <cstdint>

#include "half_convolution.cuh"

namespace convlab::column_pairs {

template <class Layer>
struct OneImageShared {
  alignas(128) float staged[Layer::kOutputs];  // (map, row, column)
  alignas(16) HalfPair halves[Layer::kInputs / 2 + Layer::kPadding];
  alignas(16) HalfPair table[Layer::kTable];
};

/// Launch with Layer::kBlocks blocks for each image.
template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads)
    convolve_one_image(float* __restrict__ output, const float* __restrict__ input,
                       const float* __restrict__ weights) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<OneImageShared<Layer>*>(memory);
  const int thread = threadIdx.x;
  const int image = blockIdx.x / Layer::kBlocks;
  const int first_row = Layer::first_row(blockIdx.x % Layer::kBlocks);

  // Threads beyond the last element load the last one: a branch would make the loads wait.
  constexpr int kPlaneFours = Layer::kPlane / 4;
  constexpr int kFours = Layer::kInputs / 4;
  constexpr int kMostFours = (kFours + Layer::kThreads - 1) / Layer::kThreads;  // of a thread
  constexpr int kImageFours = Layer::kSize * Layer::kSize / 4;                  // one channel
  static_assert(Layer::kSize * Layer::kSize % 4 == 0 &&
                Layer::kSize * Layer::first_row(Layer::kBlocks - 1) % 4 == 0);
  const float4* in = reinterpret_cast<const float4*>(input) +
                     std::int64_t{image} * Layer::kChannels * kImageFours +
                     Layer::kSize * first_row / 4;
  float4 four[kMostFours];
#pragma unroll
  for (int j = 0; j < kMostFours; ++j) {
    const int i = min(thread + j * Layer::kThreads, kFours - 1);
    four[j] = in[i / kPlaneFours * kImageFours + i % kPlaneFours];
  }
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRows = Layer::kWeights / kKernel;  // (map, channel, kernel row)
  constexpr int kMostRows = (kRows + Layer::kThreads - 1) / Layer::kThreads;
  float weight[kMostRows][kKernel];
#pragma unroll
  for (int j = 0; j < kMostRows; ++j) {
    const int row = min(thread + j * Layer::kThreads, kRows - 1);
#pragma unroll
    for (int k = 0; k < kKernel; ++k) weight[j][k] = weights[row * kKernel + k];
  }

#pragma unroll
  for (int j = 0; j < kMostRows; ++j) {
    const int row = thread + j * Layer::kThreads;
    if (row >= kRows) continue;
    fill_table<Layer>(shared.table, row % kKernel, row / kKernel % Layer::kChannels,
                      row / kKernel / Layer::kChannels, weight[j]);
  }
  if (thread < Layer::kPadding) shared.halves[Layer::kInputs / 2 + thread] = 0;
#pragma unroll
  for (int j = 0; j < kMostFours; ++j) {
    const int i = thread + j * Layer::kThreads;
    if (i >= kFours) continue;
    reinterpret_cast<uint2*>(shared.halves)[i] =
        make_uint2(round_to_halves(four[j].x, four[j].y), round_to_halves(four[j].z, four[j].w));
  }
  __syncthreads();
  const SixteenMapsWeights<Layer> in_registers(shared.table);
  convolve_rows<Layer>(shared.staged, shared.halves, in_registers, [] {});

  constexpr int kMapOutputs = Layer::kOut * Layer::kOut;
  float* out = output + std::int64_t{image} * Layer::kMaps * kMapOutputs + first_row * Layer::kOut;
  if constexpr (Layer::kBlocks == 1) {
    block_store<Keep::kLong>(out, shared.staged, sizeof(float) * Layer::kOutputs);
  } else {
    block_store<Keep::kLong>(out, shared.staged, sizeof(float) * Layer::kRows * Layer::kOut,
                             Layer::kMaps, sizeof(float) * kMapOutputs);
  }
  block_store_wait();
}

}  // namespace convlab::column_pairs
