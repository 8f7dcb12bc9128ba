#pragma once

// Tensor cores in half precision for layers with more weights than registers.
//
// Idea     half_convolution.cuh keeps all weights in registers. 24 maps of 12 channels are 14 112
//          weights for 7 × 7: they stay in shared memory, in the order of the fragments, and a warp
//          uses each fragment that it reads for several rows.
// Picture  a warp: Rows output rows × 16 columns × all maps. For two channels and one kernel row p:
//
//              left: 8 maps × 2 parities           right: input row y + p       sums of row y
//              (16, 2 channels × 8 taps)     ×     (2 channels × 8 taps, 8) →   (16, 8)
//              read once from shared memory        Rows of them, in registers
//
// Cost     one read of 512 bytes, four cycles of shared memory, for Rows matrix operations: with 4
//          rows that is one cycle for each operation, while mma.sync takes 1.7.
//
// Two of three warps multiply. Meanwhile the others load and convert the next image.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "column_pairs.cuh"
#include "common/base/conv_shape.hpp"
#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"

namespace convlab::column_pairs {

/// @tparam Rows     output rows of a warp that multiplies
/// @tparam Loaders  warps that do not multiply but load and convert
template <int Channels, int Maps, int Kernel, int Size, int Rows, int Loaders>
struct ManyMaps {
  static constexpr int kChannels = Channels;
  static constexpr int kMaps = Maps;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kRows = Rows;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kInputs = Channels * Size * Size;  // of one image
  static constexpr int kOutputs = Maps * kOut * kOut;     // of one image
  static constexpr int kRowPairs = (Size + 1) / 2;        // of a row in shared memory
  static constexpr int kPlanePairs = Size * kRowPairs;
  static constexpr int kColumnTiles = (kOut + kTileColumns - 1) / kTileColumns;
  static constexpr int kRowParts = (kOut + Rows - 1) / Rows;
  static constexpr int kMultipliers = kColumnTiles * kRowParts;  // warps
  static constexpr int kWarps = kMultipliers + Loaders;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kLoaderThreads = Loaders * kWarp;
  static constexpr int kMapTiles = Maps / 8;  // 8 maps × 2 parities = 16
  static constexpr int kChannelPairs = Channels / 2;
  static constexpr int kFragments = kChannelPairs * Kernel * kMapTiles;
  // Rows and columns beyond the output are computed, too; this many pairs cover their taps.
  static constexpr int kPadding =
      (kRowParts * Rows + Kernel - 1 - Size) * kRowPairs + kColumnTiles * kTileColumns / 2 + 4;

  static bool fits(const ConvShape& s) {
    return s.in_channels == Channels && s.out_channels == Maps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(Channels % 2 == 0 && Maps % 8 == 0 && Kernel <= 7);
  static_assert(kOutputs % 4 == 0, "an image leaves in pieces of 16 bytes");
  static_assert(kInputs % 4 == 0, "the next image is fetched ahead in pieces of 16 bytes");
};

template <class Layer>
struct ManyMapsShared {
  alignas(128) float staged[Layer::kOutputs];               // (map, row, column)
  alignas(16) LeftFragment left[Layer::kFragments][kWarp];  // (channel pair, kernel row, map tile)
  // (channel, row, pair), two images in turn
  alignas(16) HalfPair halves[2][Layer::kChannels * Layer::kPlanePairs + Layer::kPadding];
};

// Pair i of an image. If rows have an odd number of elements, the last one is paired with zero.
template <class Layer>
__device__ float2 pair_of_row(const float* image, int i) {
  const int first = i % Layer::kRowPairs * 2;
  const float* pair = image + i / Layer::kRowPairs * Layer::kSize + first;
  const bool full = Layer::kSize % 2 == 0 || first + 1 < Layer::kSize;
  return make_float2(pair[0], full ? pair[1] : 0.0f);
}

// Loads the part of an image that belongs to `thread` of `threads`, and stores it as halves.
template <class Layer>
__device__ void convert_image(HalfPair* halves, const float* image, int thread, int threads) {
#pragma unroll 8
  for (int i = thread; i < Layer::kChannels * Layer::kPlanePairs; i += threads) {
    const float2 two = pair_of_row<Layer>(image, i);
    halves[i] = round_to_halves(two.x, two.y);
  }
}

template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, 1)
    convolve_many_maps(float* __restrict__ output, const float* __restrict__ input,
                       const float* __restrict__ weights, int batch) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<ManyMapsShared<Layer>*>(memory);
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRowPairs = Layer::kRowPairs;
  constexpr int kPlanePairs = Layer::kPlanePairs;
  constexpr int kOut = Layer::kOut;
  constexpr int kPairs = Layer::kChannels * kPlanePairs;
  const int thread = threadIdx.x;
  const int lane = thread % kWarp;
  const int warp = thread / kWarp;
  const int g = lane / 4;
  const int q = lane % 4;

  for (int i = warp; i < Layer::kFragments; i += Layer::kWarps) {
    const int t = i % Layer::kMapTiles;
    const int p = i / Layer::kMapTiles % kKernel;
    const int c = i / Layer::kMapTiles / kKernel;
    for (int j = 0; j < 4; ++j) {
      const int channel = 2 * c + j / 2;
      const float* row =
          weights + (((t * 8 + g) * Layer::kChannels + channel) * kKernel + p) * kKernel;
      const float2 two = weight_pair(row, kKernel, j % 2, q, true);
      shared.left[i][lane].pair[j] = round_to_halves(two.x, two.y);
    }
  }
  for (int i = thread; i < 2 * Layer::kPadding; i += Layer::kThreads) {
    shared.halves[i % 2][kPairs + i / 2] = 0;
  }
  if (static_cast<int>(blockIdx.x) < batch) {
    convert_image<Layer>(shared.halves[0], input + std::int64_t{blockIdx.x} * Layer::kInputs,
                         thread, Layer::kThreads);
  }
  __syncthreads();

  const bool multiplies = warp < Layer::kMultipliers;
  const int column = warp % Layer::kColumnTiles * kTileColumns;
  const int first_row = warp / Layer::kColumnTiles * Layer::kRows;
  int turn = 0;
  for (int image = blockIdx.x; image < batch; image += gridDim.x, turn ^= 1) {
    SumFragment sums[Layer::kMapTiles][Layer::kRows] = {};
    if (multiplies) {
      const HalfPair* taps = shared.halves[turn] + first_row * kRowPairs + column / 2 + g + q;
      const LeftFragment* left = &shared.left[0][lane];
#pragma unroll 1
      for (int c = 0; c < Layer::kChannelPairs; ++c, taps += 2 * kPlanePairs) {
        RightFragment right[Layer::kRows + kKernel - 1];  // (2 channels × 8 taps, 8 pairs)
#pragma unroll
        for (int y = 0; y < Layer::kRows + kKernel - 1; ++y) {
          right[y].pair[0] = taps[y * kRowPairs];
          right[y].pair[1] = taps[kPlanePairs + y * kRowPairs];
        }
#pragma unroll
        for (int p = 0; p < kKernel; ++p) {
#pragma unroll
          for (int t = 0; t < Layer::kMapTiles; ++t, left += kWarp) {
            const LeftFragment fragment = *left;
#pragma unroll
            for (int y = 0; y < Layer::kRows; ++y) {
              multiply_add(sums[t][y], fragment, right[y + p]);
            }
          }
        }
      }
    } else {
      const int loader = thread - Layer::kMultipliers * kWarp;
      const int next = image + gridDim.x;
#if CONVLAB_BULK_COPY
      const int after_next = next + gridDim.x;
      if (loader == 0 && after_next < batch) {
        bulk_fetch_ahead(input + std::int64_t{after_next} * Layer::kInputs,
                         sizeof(float) * Layer::kInputs);
      }
#endif
      if (next < batch) {
        convert_image<Layer>(shared.halves[turn ^ 1], input + std::int64_t{next} * Layer::kInputs,
                             loader, Layer::kLoaderThreads);
      }
    }

    block_store_wait();  // of the image before
    if (multiplies) {
#pragma unroll
      for (int t = 0; t < Layer::kMapTiles; ++t) {
#pragma unroll
        for (int y = 0; y < Layer::kRows; ++y) {
          const float four[4] = {sums[t][y].sum[0], sums[t][y].sum[2], sums[t][y].sum[1],
                                 sums[t][y].sum[3]};
          const int row = first_row + y;
          float* place = shared.staged + ((t * 8 + g) * kOut + row) * kOut;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int x = column + 4 * q + i;
            if (row < kOut && x < kOut) place[x] = four[i];
          }
        }
      }
    }
    block_store(output + std::int64_t{image} * Layer::kOutputs, shared.staged,
                sizeof(float) * Layer::kOutputs);
  }
  block_store_wait();
}

}  // namespace convlab::column_pairs
