#pragma once

// Many maps on Hopper's tensor cores, by warpgroups (compute capability 9.0a).
//
// Idea     many_maps.cuh is limited by mma.sync, which reaches 60 % of the peak of Hopper's tensor
//          cores, and its warps first all multiply and then all store. Here warpgroups multiply
//          (wgmma): weights are the right factor, in shared memory, and pixels the left one, in
//          registers. No thread waits for the whole block: mbarriers synchronise only producers
//          with consumers.
// Picture  a block of three warpgroups, one for each multiprocessor
//
//              global → loaders (1 warpgroup) → halves[2] → multipliers (2)
//              copy engine ← staged ← multipliers
//
//          A row of the left factor is a pair of output columns in one part of the rows: 14 pairs ×
//          9 parts of 3 rows are 126 of the 128 rows of two warpgroups. For two channels a
//          multiplier loads its window of input rows once, and uses it for all kernel rows p:
//
//              sums of row y (64 pairs, 48) += input row y + p (64 pairs, 2 channels × 8 taps)
//                                              · weights p (2 channels × 8 taps, 24 maps × 2)
//
// Cost     for each 24 cycles of multiplication, a factor of 1 536 bytes is read from shared
//          memory, which takes 12 cycles. The window takes 4 · (Rows + Kernel - 1) reads for Kernel
//          · Rows operations

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "column_pairs.cuh"
#include "common/base/conv_shape.hpp"
#include "common/device/bulk_copy.cuh"
#include "warpgroup_multiply.cuh"

namespace convlab::column_pairs {

/// @tparam Rows  output rows of a multiplier's thread
template <int Channels, int Kernel, int Size, int Rows>
struct WarpgroupMaps {
  static constexpr int kChannels = Channels;
  static constexpr int kMaps = 24;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kRows = Rows;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kInputs = Channels * Size * Size;  // of one image
  static constexpr int kOutputs = kMaps * kOut * kOut;    // of one image
  static constexpr int kRowPairs = (Size + 1) / 2;        // of a row in shared memory
  static constexpr int kPlanePairs = Size * kRowPairs;
  static constexpr int kChannelPairs = Channels / 2;
  static constexpr int kOutPairs = (kOut + 1) / 2;
  static constexpr int kRowParts = (kOut + Rows - 1) / Rows;
  static constexpr int kPositions = kOutPairs * kRowParts;
  static constexpr int kColumns = 2 * kMaps;                     // of a right factor
  static constexpr int kFactor = 16 * kColumns;                  // halves of a right factor
  static constexpr int kBlockRow = 8 * kColumns * sizeof(half);  // bytes of its blocks of 8 rows
  static constexpr int kWindow = Rows + Kernel - 1;              // input rows
  // Rows beyond the output are computed, too; this many pairs cover their taps.
  static constexpr int kMissingRows = kRowParts * Rows - kOut;
  static constexpr int kPadding = kMissingRows * kRowPairs + 4;

  static constexpr int kWarpgroup = 4 * kWarp;
  static constexpr int kMultipliers = 2 * kWarpgroup;
  static constexpr int kLoaders = kWarpgroup;
  static constexpr int kThreads = kMultipliers + kLoaders;
  static constexpr int kMultiplierRegisters = 208;  // of a thread; see setmaxnreg
  static constexpr int kLoaderRegisters = 88;
  static_assert(kMultiplierRegisters * kMultipliers + kLoaderRegisters * kLoaders <= 65536);

  static bool fits(const ConvShape& s) {
    return s.in_channels == Channels && s.out_channels == kMaps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(Channels % 2 == 0 && Kernel <= 7 && kPositions <= kMultipliers / 2);
  static_assert(kInputs % 4 == 0 && kOutputs % 4 == 0);
};

template <class Layer>
struct WarpgroupMapsShared {
  alignas(128) float staged[Layer::kOutputs];  // (map, row, column)
  alignas(128) half factors[Layer::kChannelPairs * Layer::kKernel * Layer::kFactor];
  // (channel, row, pair), two images in turn
  alignas(16) half2 halves[2][Layer::kChannels * Layer::kPlanePairs + Layer::kPadding];
  Barrier ready[2];  // halves hold an image
  Barrier used[2];   // … and no thread needs it any more
  Barrier full;      // staged holds an image
  Barrier empty;     // … and it is stored
};

#if CONVLAB_WARPGROUP_MULTIPLY

// Right factor (c, p): rows are channels 2c and 2c + 1 × 8 taps; column 8j + 2q + parity is map
// 4j + q.
template <class Layer>
__device__ void make_factors(half* factors, const float* weights) {
  constexpr int kKernel = Layer::kKernel;
#pragma unroll 2
  for (int i = threadIdx.x; i < Layer::kChannels * kKernel * Layer::kColumns;
       i += Layer::kThreads) {
    const int column = i % Layer::kColumns;
    const int p = i / Layer::kColumns % kKernel;
    const int channel = i / Layer::kColumns / kKernel;
    const int map = column / 2;
    const float* row = weights + ((map * Layer::kChannels + channel) * kKernel + p) * kKernel;
    HalfPair eight[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float2 two = weight_pair(row, kKernel, column % 2, q, true);
      eight[q] = round_to_halves(two.x, two.y);
    }
    half* place = factors + (channel / 2 * kKernel + p) * Layer::kFactor +
                  channel % 2 * 8 * Layer::kColumns + column * 8;
    *reinterpret_cast<uint4*>(place) = make_uint4(eight[0], eight[1], eight[2], eight[3]);
  }
}

// Loads an image with `threads` threads and stores it as halves. Rows have an odd number of floats,
// but begin at an even half, so four floats are loaded at once and stored one by one.
template <class Layer>
__device__ void load_halves(half2* halves, const float* image, int thread, int threads) {
  half* place = reinterpret_cast<half*>(halves);
#pragma unroll 8
  for (int i = thread; i < Layer::kInputs / 4; i += threads) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(image) + i);
    const float value[4] = {four.x, four.y, four.z, four.w};
    constexpr int kSpare = 2 * Layer::kRowPairs - Layer::kSize;
    int at = 4 * i + 4 * i / Layer::kSize * kSpare;
    int left = Layer::kSize - 4 * i % Layer::kSize;  // of this row
#pragma unroll
    for (int k = 0; k < 4; ++k, ++at, --left) {
      if (left == 0) at += kSpare;
      place[at] = __float2half_rn(value[k]);
    }
  }
}

template <class Layer>
__device__ void load_images(WarpgroupMapsShared<Layer>& shared, float* output, const float* input,
                            int batch) {
  const int loader = threadIdx.x - Layer::kMultipliers;
  shared.ready[0].arrive();  // all threads have loaded the first image
  int turn = 0;
  for (int image = blockIdx.x; image < batch; image += gridDim.x, ++turn) {
    const int next = image + gridDim.x;
    const int after_next = next + gridDim.x;
    if (loader == 0 && after_next < batch) {
      bulk_fetch_ahead(input + std::int64_t{after_next} * Layer::kInputs,
                       sizeof(float) * Layer::kInputs);
    }
    if (next < batch) {
      const int other = (turn + 1) % 2;
      if (turn > 0) shared.used[other].wait((turn - 1) / 2 % 2);
      load_halves<Layer>(shared.halves[other], input + std::int64_t{next} * Layer::kInputs, loader,
                         Layer::kLoaders);
      shared.ready[other].arrive();
    }
    if (loader == 0) {
      shared.full.wait(turn % 2);
      // The output must not evict the prefetched images from the cache.
      bulk_store<Keep::kShort>(output + std::int64_t{image} * Layer::kOutputs, shared.staged,
                               sizeof(float) * Layer::kOutputs);
      bulk_commit();
      bulk_wait_read<0>();
      shared.empty.arrive();
    }
  }
}

template <class Layer>
__device__ void multiply_images(WarpgroupMapsShared<Layer>& shared, int batch) {
  constexpr int kKernel = Layer::kKernel;
  constexpr int kOut = Layer::kOut;
  const int lane = threadIdx.x % kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  int row[2];     // of the output: of the left factor's rows g and g + 8
  int column[2];  // even
  const HalfPair* taps[2];
  bool counts[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int position = threadIdx.x / kWarp * 16 + g + 8 * i;
    counts[i] = position < Layer::kPositions;
    const int real = min(position, Layer::kPositions - 1);
    row[i] = real / Layer::kOutPairs * Layer::kRows;
    column[i] = real % Layer::kOutPairs * 2;
    taps[i] = reinterpret_cast<const HalfPair*>(shared.halves[0]) + row[i] * Layer::kRowPairs +
              column[i] / 2 + q;
  }
  constexpr int kImagePairs = sizeof(shared.halves[0]) / sizeof(HalfPair);
  const std::uint64_t factors =
      right_descriptor(shared.factors, Layer::kBlockRow, 8 * 8 * sizeof(half));
  constexpr int kFactorStep = Layer::kFactor * sizeof(half) / 16;

  int turn = 0;
  for (int image = blockIdx.x; image < batch; image += gridDim.x, ++turn) {
    const int slot = turn % 2;
    HalfPair window[2][Layer::kWindow][4];  // of two pairs of channels in turn
    const auto load_window = [&](int c) {
#pragma unroll
      for (int y = 0; y < Layer::kWindow; ++y) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          window[c % 2][y][i] =
              taps[i % 2][slot * kImagePairs + (2 * c + i / 2) * Layer::kPlanePairs +
                          y * Layer::kRowPairs];
        }
      }
    };
    float sums[Layer::kRows][Layer::kColumns / 2];
    shared.ready[slot].wait(turn / 2 % 2);
    load_window(0);
#pragma unroll
    for (int c = 0; c < Layer::kChannelPairs; ++c) {
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kKernel; ++p) {
#pragma unroll
        for (int y = 0; y < Layer::kRows; ++y) {
          multiply_add<48>(sums[y], window[c % 2][y + p], factors + (c * kKernel + p) * kFactorStep,
                           c + p > 0);
        }
      }
      multiply_commit();
      if (c + 1 < Layer::kChannelPairs) {
        multiply_wait<1>();  // the other window is free
        load_window(c + 1);
      }
    }
    shared.used[slot].arrive();
    multiply_wait();
#pragma unroll
    for (int y = 0; y < Layer::kRows; ++y) {
#pragma unroll
      for (int i = 0; i < Layer::kColumns / 2; ++i) keep_here(sums[y][i]);
    }

    if (turn > 0) shared.empty.wait((turn - 1) % 2);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float* corner = shared.staged + q * kOut * kOut + row[i] * kOut + column[i];
#pragma unroll
      for (int y = 0; y < Layer::kRows; ++y) {
        if (!counts[i] || row[i] + y >= kOut) continue;
#pragma unroll
        for (int j = 0; j < Layer::kMaps / 4; ++j) {
          float* place = corner + 4 * j * kOut * kOut + y * kOut;
          place[0] = sums[y][4 * j + 2 * i];
          if (kOut % 2 == 0 || column[i] + 1 < kOut) place[1] = sums[y][4 * j + 2 * i + 1];
        }
      }
    }
    fence_shared_for_engines();
    shared.full.arrive();
  }
}

#endif  // CONVLAB_WARPGROUP_MULTIPLY

template <class Layer>
__global__ void __launch_bounds__(CONVLAB_WARPGROUP_MULTIPLY ? Layer::kThreads : 1, 1)
    convolve_by_warpgroups(float* __restrict__ output, const float* __restrict__ input,
                           const float* __restrict__ weights, int batch) {
#if CONVLAB_WARPGROUP_MULTIPLY
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<WarpgroupMapsShared<Layer>*>(memory);
  const int thread = threadIdx.x;
  if (thread == 0) {
    for (int i = 0; i < 2; ++i) {
      shared.ready[i].init(Layer::kLoaders);
      shared.used[i].init(Layer::kMultipliers);
    }
    shared.full.init(Layer::kMultipliers);
    shared.empty.init(1);
  }
  // Clears the places that no image writes: the ends of rows, and all behind the last row.
  constexpr int kImagePairs = sizeof(shared.halves[0]) / sizeof(half2);
  for (int i = thread; i < 2 * kImagePairs; i += Layer::kThreads) {
    shared.halves[i / kImagePairs][i % kImagePairs] = half2{};
  }
  __syncthreads();
  if (static_cast<int>(blockIdx.x) < batch) {
    load_halves<Layer>(shared.halves[0], input + std::int64_t{blockIdx.x} * Layer::kInputs, thread,
                       Layer::kThreads);
  }
  make_factors<Layer>(shared.factors, weights);
  fence_shared_for_engines();
  __syncthreads();

  if (thread >= Layer::kMultipliers) {
    give_registers<Layer::kLoaderRegisters>();
    load_images(shared, output, input, batch);
  } else {
    take_registers<Layer::kMultiplierRegisters>();
    multiply_images(shared, batch);
  }
#else
  (void)output, (void)input, (void)weights, (void)batch;
#endif  // CONVLAB_WARPGROUP_MULTIPLY
}

}  // namespace convlab::column_pairs
