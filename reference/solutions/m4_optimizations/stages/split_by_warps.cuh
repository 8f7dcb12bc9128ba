#pragma once

// The split convolution of several channels by single warps, for GPUs whose warpgroups do not
// multiply.
//
// Idea     many_maps.cuh with three products of halves in place of one. A block computes one image:
//          its largest value gives the scale, its pixels and the weights lie in shared memory as
//          pairs of split floats.
// Picture  many_maps.cuh: what a warp multiplies; split_halves.cuh: which products count
// Cost     three times the matrix operations, and two barriers for each image

#include <cuda_runtime.h>

#include <cstdint>

#include "column_pairs.cuh"
#include "common/device/matrix_fragments.cuh"
#include "many_maps.cuh"
#include "split_halves.cuh"

namespace convlab::split_by_warps {

using namespace column_pairs;
using namespace split_halves;

template <class Layer>
struct SplitMapsShared {
  alignas(16) LeftFragment high[Layer::kFragments][kWarp];  // (channel pair, kernel row, map tile)
  alignas(16) LeftFragment low[Layer::kFragments][kWarp];
  SplitPair
      pixels[Layer::kChannels * Layer::kPlanePairs + Layer::kPadding];  // (channel, row, pair)
  float largest[2][Layer::kWarps];  // of the weights, of the image
};

// The largest of all values of a block's threads. All of them must come.
template <class Layer>
__device__ float block_max(float* largest, float value) {
  value = warp_max(value);
  if (threadIdx.x % kWarp == 0) largest[threadIdx.x / kWarp] = value;
  __syncthreads();
  for (int i = 0; i < Layer::kWarps; ++i) value = fmaxf(value, largest[i]);
  return value;
}

template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, 1)
    convolve_split_maps(float* __restrict__ output, const float* __restrict__ input,
                        const float* __restrict__ weights) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<SplitMapsShared<Layer>*>(memory);
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRowPairs = Layer::kRowPairs;
  constexpr int kPlanePairs = Layer::kPlanePairs;
  constexpr int kOut = Layer::kOut;
  constexpr int kPairs = Layer::kChannels * kPlanePairs;
  constexpr int kWeights = Layer::kMaps * Layer::kChannels * kKernel * kKernel;
  const int thread = threadIdx.x;
  const int lane = thread % kWarp;
  const int warp = thread / kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  const float* image = input + std::int64_t{blockIdx.x} * Layer::kInputs;

  float weight_max = 0.0f;
  for (int i = thread; i < kWeights; i += Layer::kThreads)
    weight_max = fmaxf(weight_max, fabsf(weights[i]));
  const Scale weight_scale = scale_for(block_max<Layer>(shared.largest[0], weight_max));
  float input_max = 0.0f;
  for (int i = thread; i < Layer::kInputs; i += Layer::kThreads)
    input_max = fmaxf(input_max, fabsf(image[i]));
  const Scale input_scale = scale_for(block_max<Layer>(shared.largest[1], input_max));

  for (int i = warp; i < Layer::kFragments; i += Layer::kWarps) {
    const int t = i % Layer::kMapTiles;
    const int p = i / Layer::kMapTiles % kKernel;
    const int c = i / Layer::kMapTiles / kKernel;
    for (int j = 0; j < 4; ++j) {
      const int channel = 2 * c + j / 2;
      const float* row =
          weights + (((t * 8 + g) * Layer::kChannels + channel) * kKernel + p) * kKernel;
      const float2 two = weight_pair(row, kKernel, j % 2, q, true);
      const SplitPair pair = split(weight_scale.up * two.x, weight_scale.up * two.y);
      shared.high[i][lane].pair[j] = pair.high;
      shared.low[i][lane].pair[j] = pair.low;
    }
  }
  for (int i = thread; i < kPairs + Layer::kPadding; i += Layer::kThreads) {
    const float2 two = i < kPairs ? pair_of_row<Layer>(image, i) : make_float2(0.0f, 0.0f);
    shared.pixels[i] = split(input_scale.up * two.x, input_scale.up * two.y);
  }
  __syncthreads();

  const int column = warp % Layer::kColumnTiles * kTileColumns;
  const int first_row = warp / Layer::kColumnTiles * Layer::kRows;
  SumFragment sums[Layer::kMapTiles][Layer::kRows] = {};
  SumFragment corrections[Layer::kMapTiles][Layer::kRows] = {};
  const SplitPair* taps = shared.pixels + first_row * kRowPairs + column / 2 + g + q;
#pragma unroll 1
  for (int i = 0; i < Layer::kChannelPairs * kKernel; ++i) {
    const SplitPair* row = taps + i / kKernel * 2 * kPlanePairs + i % kKernel * kRowPairs;
#pragma unroll
    for (int y = 0; y < Layer::kRows; ++y) {
      const SplitPair& upper = row[y * kRowPairs];  // of the first channel
      const SplitPair& lower = row[kPlanePairs + y * kRowPairs];
      const RightFragment right_high = {{upper.high, lower.high}};
      const RightFragment right_low = {{upper.low, lower.low}};
#pragma unroll
      for (int t = 0; t < Layer::kMapTiles; ++t) {
        const LeftFragment high = shared.high[i * Layer::kMapTiles + t][lane];
        multiply_add(sums[t][y], high, right_high);
        multiply_add(corrections[t][y], shared.low[i * Layer::kMapTiles + t][lane], right_high);
        multiply_add(corrections[t][y], high, right_low);
      }
    }
  }

#pragma unroll
  for (int t = 0; t < Layer::kMapTiles; ++t) {
#pragma unroll
    for (int y = 0; y < Layer::kRows; ++y) {
      constexpr int kPlaces[] = {0, 2, 1, 3};
      const int row = first_row + y;
      float* place =
          output + ((std::int64_t{blockIdx.x} * Layer::kMaps + t * 8 + g) * kOut + row) * kOut;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int x = column + 4 * q + i;
        const int at = kPlaces[i];
        if (row < kOut && x < kOut)
          place[x] = join(sums[t][y].sum[at], corrections[t][y].sum[at]) * input_scale.down *
                     weight_scale.down;
      }
    }
  }
}

}  // namespace convlab::split_by_warps
