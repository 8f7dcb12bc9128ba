#pragma once

// The convolution on tensor cores in half precision, from and to single precision.
//
// One channel. A block computes one strip of output rows of one image, a warp 16 columns of it. The
// input rows of a strip lie together in memory, so one bulk copy loads them.
//
//     left   (16, 16 k)  4 maps × 2 output rows × 2 parities; k: 2 input rows × 8 taps
//     right  (16 k, 8)   8 pairs of columns: one load for each input row, kept while it is used
//     sums   (16, 8)     a thread holds four neighbouring columns: one store of 16 bytes
//
// Several channels. A block computes one image after the other; all weights stay in registers.
//
//     left   (16, 16 k)  16 maps of one parity; k: 2 channels × 8 taps; one for each kernel row p
//     right  (16 k, 8)   8 pairs of columns of input row y: loaded once, used for all outputs y - p
//     sums   (16, 8)     of 7 output rows at a time; each input row completes one of them
//
// The finished image is collected in shared memory and stored in one piece: rows of 34 floats begin
// in the middle of 32-byte sectors, so storing row by row would write these sectors twice.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "column_pairs.cuh"
#include "common/base/conv_shape.hpp"
#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"

namespace convlab::column_pairs {

// ---------------------------------------------------------------------------------------------
// One input channel: a block computes a strip of rows of one image.

template <class Layer>
struct OneChannelShared {
  alignas(128) float raw[Layer::kStripInputs];  // (input rows, size)
  alignas(16) HalfPair halves[Layer::kStripInputs / 2 + Layer::kPadding];
  HalfPair table[Layer::kTable];              // (parity, map, kernel row, 4 pairs of taps)
  alignas(128) float staged[Layer::kStaged];  // (map, strip rows, out)
  BlockLoad load;
};

template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, Layer::kBlocks)
    convolve_one_channel(float* __restrict__ output, const float* __restrict__ input,
                         const float* __restrict__ weights) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<OneChannelShared<Layer>*>(memory);
  constexpr int kOut = Layer::kOut;
  const int image = blockIdx.x / Layer::kStrips;
  const int first_row = blockIdx.x % Layer::kStrips * Layer::kStripRows;

  shared.load.init();
  shared.load.start(
      shared.raw,
      input + std::int64_t{image} * Layer::kSize * Layer::kSize + first_row * Layer::kSize,
      sizeof(float) * Layer::kStripInputs);
#pragma unroll
  for (int i = threadIdx.x; i < Layer::kTableEntries; i += Layer::kThreads) {
    const typename Layer::TableEntry entry(i);
    const float2 two = weight_pair(weights + entry.weight_row(), Layer::kKernel, entry.parity,
                                   entry.q, entry.real());
    shared.table[entry.place()] = round_to_halves(two.x, two.y);
  }
  if (threadIdx.x < Layer::kPadding) shared.halves[Layer::kStripInputs / 2 + threadIdx.x] = 0;
  __syncthreads();
  shared.load.wait(0);
  for (int i = threadIdx.x; i < Layer::kStripInputs / 4; i += Layer::kThreads) {
    const float4 four = reinterpret_cast<const float4*>(shared.raw)[i];
    reinterpret_cast<uint2*>(shared.halves)[i] =
        make_uint2(round_to_halves(four.x, four.y), round_to_halves(four.z, four.w));
  }
  __syncthreads();

  const int lane = threadIdx.x % kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  const int row_of_two = g / 4;
  const int tile = threadIdx.x / kWarp;
  const int column = min(tile * kTileColumns, kOut - kTileColumns);

  LeftFragment left[Layer::kMapTiles][Layer::kSteps];  // (16 map-rows, 16 taps) each
  for (int t = 0; t < Layer::kMapTiles; ++t) {
    const int map = t * 4 + g % 4;
    for (int j = 0; j < Layer::kSteps; ++j) {
      for (int i = 0; i < 4; ++i) {
        const int parity = i % 2;
        const int p = 2 * j + i / 2 - row_of_two;
        left[t][j].pair[i] = shared.table[Layer::table_place(parity, map, p, q)];
      }
    }
  }

  const HalfPair* taps = shared.halves + column / 2 + g + q;
  HalfPair row[Layer::kStripInputRows];
#pragma unroll
  for (int y = 0; y < Layer::kKernel - 1; ++y) row[y] = taps[y * (Layer::kSize / 2)];
#pragma unroll
  for (int y = 0; y < Layer::kStripRows; y += 2) {
#pragma unroll
    for (int i = Layer::kKernel - 1; i <= Layer::kKernel; ++i) {
      row[y + i] = taps[(y + i) * (Layer::kSize / 2)];
    }
#pragma unroll
    for (int t = 0; t < Layer::kMapTiles; ++t) {
      SumFragment sums = {};
#pragma unroll
      for (int j = 0; j < Layer::kSteps; ++j) {
        const RightFragment right = {{row[y + 2 * j], row[y + 2 * j + 1]}};
        multiply_add(sums, left[t][j], right);
      }
      // Two pairs of columns are four neighbours.
      const float4 four = make_float4(sums.sum[0], sums.sum[2], sums.sum[1], sums.sum[3]);
      const int map = t * 4 + g % 4;
      if (Layer::kMaps % 4 != 0 && map >= Layer::kMaps) continue;
      const int strip_row = y + row_of_two;
      if constexpr (Layer::kDirect) {
        const std::int64_t place = (std::int64_t{image} * Layer::kMaps + map) * kOut * kOut +
                                   (first_row + strip_row) * kOut + column + 4 * q;
        store_four<Keep::kLong>(output + place, four);
      } else {
        store_new_columns(shared.staged + (map * Layer::kStripRows + strip_row) * kOut,
                          column + 4 * q, tile * kTileColumns, four);
      }
    }
  }
  if constexpr (!Layer::kDirect) {
    block_store(output + std::int64_t{image} * Layer::kMaps * kOut * kOut + first_row * kOut,
                shared.staged, sizeof(float) * Layer::kStripRows * kOut, Layer::kMaps,
                sizeof(float) * kOut * kOut);
    block_store_wait();
  }
}

// ---------------------------------------------------------------------------------------------
// Several input channels.

/// 16 maps; a block computes one image after the other, or a part of one.
/// @tparam RowParts  into how many parts a block's rows are divided; each has two warps
/// @tparam Blocks    that share an image; their rows overlap if the rows do not divide evenly
template <int Channels, int Kernel, int Size, int RowParts, int Blocks = 1>
struct SixteenMaps {
  static constexpr int kChannels = Channels;
  static constexpr int kMaps = 16;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kBlocks = Blocks;
  static constexpr int kRows = ((kOut + Blocks - 1) / Blocks + 1) / 2 * 2;  // of a block's output
  static constexpr int kPlane = (kRows + Kernel - 1) * Size;  // of a block's input, one channel
  static constexpr int kInputs = Channels * kPlane;           // of a block
  static constexpr int kOutputs = kMaps * kRows * kOut;       // of a block
  static constexpr int kWeights = kMaps * Channels * Kernel * Kernel;
  static constexpr int kWarps = 2 * RowParts;  // 2 column tiles × parts of rows
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kPartRows = (kRows + RowParts - 1) / RowParts;
  static constexpr bool kRest = kOut == 2 * kTileColumns + 2;  // a pair of columns is left
  static constexpr int kSecondTile = kRest ? kTileColumns : kOut - kTileColumns;
  static constexpr int kRestUnits = kRest ? (kRows + 7) / 8 : 0;  // of 8 rows
  static constexpr int kPadding = 4;

  // The table of weights is (kernel row, channel, parity, map, 4 pairs of taps). The gaps let eight
  // threads with successive rows of a map store their four pairs without a bank conflict.
  static constexpr int kTableChannel = 2 * kMaps + Kernel;  // in fours of pairs
  static constexpr int kTableRow = (Channels * kTableChannel + 6) / 8 * 8 + 1;
  static constexpr int kTable = Kernel * kTableRow * 4;
  __device__ static constexpr int table_place(int row, int channel, int parity, int map) {
    return (row * kTableRow + channel * kTableChannel + parity * kMaps + map) * 4;
  }

  __device__ static constexpr int first_row(int block) {
    return Blocks == 1 ? 0 : block * (kOut - kRows) / (Blocks - 1);
  }

  static bool fits(const ConvShape& s) {
    return s.in_channels == Channels && s.out_channels == kMaps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(Channels % 2 == 0 && Size % 2 == 0 && kOut % 2 == 0 && Kernel <= 7);
  static_assert(kOut <= 2 * kTileColumns + 2 && kOut > kTileColumns);
  static_assert(kPlane % 4 == 0 && kOutputs % 4 == 0 && kWeights % 4 == 0);
};

template <class Layer>
struct SixteenMapsShared {
  alignas(128) float staged[Layer::kOutputs];  // (map, row, column)
  alignas(128) float raw[Layer::kInputs];      // (channel, row, column)
  alignas(16) HalfPair halves[Layer::kInputs / 2 + Layer::kPadding];
  BlockLoad load;
  BlockLoad load_weights;
  int next_image;
  static_assert(Layer::kOutputs >= Layer::kWeights + Layer::kTable,
                "weights and table fit where the outputs will be");
};

// Fragment columns stand for pairs of output columns, and fragment rows for maps. In this order the
// 16 threads of a store use 32 different banks.
__device__ inline int pair_of(int n) {
  return n / 2 + n % 2 * 4;
}
__device__ inline int map_of(int g) {
  return g % 4 * 2 + g / 4;
}

/// Writes the two rows of the table of weights for one kernel row of a channel and a map.
/// @param weights  the taps of the kernel row
template <class Layer>
__device__ void fill_table(HalfPair* table, int row, int channel, int map, const float* weights) {
#pragma unroll
  for (int parity = 0; parity < 2; ++parity) {
    HalfPair pair[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float2 two = weight_pair(weights, Layer::kKernel, parity, q, true);
      pair[q] = round_to_halves(two.x, two.y);
    }
    *reinterpret_cast<uint4*>(table + Layer::table_place(row, channel, parity, map)) =
        make_uint4(pair[0], pair[1], pair[2], pair[3]);
  }
}

/// All weights as the left factors of a warp: (16 maps, 2 channels × 8 taps) for each kernel row,
/// pair of channels and parity.
template <class Layer>
struct SixteenMapsWeights {
  LeftFragment left[Layer::kKernel][Layer::kChannels / 2][2];

  __device__ explicit SixteenMapsWeights(const HalfPair* table) {
    const int g = threadIdx.x % kWarp / 4;
    const int q = threadIdx.x % 4;
#pragma unroll
    for (int p = 0; p < Layer::kKernel; ++p) {
#pragma unroll
      for (int c = 0; c < Layer::kChannels / 2; ++c) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int map = map_of(g) + i % 2 * 8;
          left[p][c][i / 4].pair[i % 4] =
              table[Layer::table_place(p, 2 * c + i / 2 % 2, i / 4, map) + q];
        }
      }
    }
  }
};

/// Convolves the rows of a block.
/// @param staged        output (map, row, column) in shared memory
/// @param halves        input (channel, row, column) in shared memory
/// @param before_store  called by all threads before they write to `staged`
template <class Layer, class BeforeStore>
__device__ void convolve_rows(float* staged, const HalfPair* halves,
                              const SixteenMapsWeights<Layer>& weights, BeforeStore before_store) {
  constexpr int kChannelPairs = Layer::kChannels / 2;
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRowPairs = Layer::kSize / 2;
  constexpr int kPlanePairs = Layer::kPlane / 2;
  constexpr int kOut = Layer::kOut;
  constexpr int kMapOutputs = Layer::kRows * kOut;
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int g = lane / 4;
  const int q = lane % 4;

  const int column = warp % 2 * Layer::kSecondTile;
  // Parts overlap if the rows do not divide evenly; both then store the same values.
  const int first_row = warp / 2 * (Layer::kRows - Layer::kPartRows) / (Layer::kWarps / 2 - 1);
  const HalfPair* taps = halves + first_row * kRowPairs + column / 2 + pair_of(g) + q;
  SumFragment sums[kKernel][2];  // of output row y - p, at index (y - p) % kKernel
#pragma unroll
  for (int y = 0; y < Layer::kPartRows + kKernel - 1; ++y) {
    RightFragment right[kChannelPairs];  // (2 channels × 8 taps, 8 pairs of columns)
#pragma unroll
    for (int c = 0; c < kChannelPairs; ++c) {
      right[c].pair[0] = taps[2 * c * kPlanePairs + y * kRowPairs];
      right[c].pair[1] = taps[(2 * c + 1) * kPlanePairs + y * kRowPairs];
    }
    if (y == kKernel - 1) before_store();
#pragma unroll
    for (int c = 0; c < kChannelPairs; ++c) {
#pragma unroll
      for (int p = 0; p < kKernel; ++p) {
        if (y - p < 0 || y - p >= Layer::kPartRows) continue;
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          SumFragment& sum = sums[(y - p) % kKernel][odd];
          if (p == 0 && c == 0) sum = {};
          multiply_add(sum, weights.left[p][c][odd], right[c]);
        }
      }
    }
    const int row = y - (kKernel - 1);
    if (row < 0) continue;
    const SumFragment& even = sums[row % kKernel][0];
    const SumFragment& odd = sums[row % kKernel][1];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int pair = q + i % 2 * 4;
      if (column + 2 * pair < warp % 2 * kTileColumns) continue;  // the first tile stores it
      float* place = staged + (map_of(g) + i / 2 * 8) * kMapOutputs + (first_row + row) * kOut +
                     column + 2 * pair;
      *reinterpret_cast<float2*>(place) = make_float2(even.sum[i], odd.sum[i]);
    }
  }

  // The last two columns: the fragment's columns stand for 8 rows.
  for (int unit = warp; unit < Layer::kRestUnits; unit += Layer::kWarps) {
    const int unit_row = min(unit * 8, Layer::kRows - 8);
    const HalfPair* corner = halves + (unit_row + pair_of(g)) * kRowPairs + kTileColumns + q;
    SumFragment rest[2] = {};
#pragma unroll
    for (int p = 0; p < kKernel; ++p) {
#pragma unroll
      for (int c = 0; c < kChannelPairs; ++c) {
        const RightFragment right = {{corner[2 * c * kPlanePairs + p * kRowPairs],
                                      corner[(2 * c + 1) * kPlanePairs + p * kRowPairs]}};
        multiply_add(rest[0], weights.left[p][c][0], right);
        multiply_add(rest[1], weights.left[p][c][1], right);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = unit_row + q + i % 2 * 4;
      if (row < unit * 8) continue;  // the unit before stores it
      float* place = staged + (map_of(g) + i / 2 * 8) * kMapOutputs + row * kOut + 2 * kTileColumns;
      *reinterpret_cast<float2*>(place) = make_float2(rest[0].sum[i], rest[1].sum[i]);
    }
  }
}

// A queue of images: a block that is done takes the next one.
struct Queue {
  int next;      // images taken, without the first of each block
  int finished;  // blocks
};

template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, 256 / Layer::kThreads)
    convolve_sixteen_maps(float* __restrict__ output, const float* __restrict__ input,
                          const float* __restrict__ weights, int batch, Queue* queue) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<SixteenMapsShared<Layer>*>(memory);
  static_assert(Layer::kThreads <= 256 && Layer::kBlocks == 1);
  const int thread = threadIdx.x;

  int image = blockIdx.x;
  shared.load.init();
  shared.load.start(shared.raw, input + std::int64_t{image} * Layer::kInputs,
                    sizeof(float) * Layer::kInputs);
  // The weights pass through shared memory once, then stay in registers.
  float* weight = shared.staged;
  HalfPair* table = reinterpret_cast<HalfPair*>(weight + Layer::kWeights);
  shared.load_weights.init();
  shared.load_weights.start(weight, weights, sizeof(float) * Layer::kWeights);
  if (thread < Layer::kPadding) shared.halves[Layer::kInputs / 2 + thread] = 0;
  shared.load_weights.wait(0);
#pragma unroll 2
  for (int i = thread; i < Layer::kWeights / Layer::kKernel; i += Layer::kThreads) {
    const int map = i % Layer::kMaps;
    const int row = i / Layer::kMaps / Layer::kChannels;
    const int channel = i / Layer::kMaps % Layer::kChannels;
    fill_table<Layer>(
        table, row, channel, map,
        weight + ((map * Layer::kChannels + channel) * Layer::kKernel + row) * Layer::kKernel);
  }
  __syncthreads();
  const SixteenMapsWeights<Layer> in_registers(table);

  for (int parity = 0; image < batch; parity ^= 1) {
    int next = image + gridDim.x;
    if (queue != nullptr && thread == 0) next = gridDim.x + atomicAdd(&queue->next, 1);
    shared.load.wait(parity);
    for (int i = thread; i < Layer::kInputs / 4; i += Layer::kThreads) {
      const float4 four = reinterpret_cast<const float4*>(shared.raw)[i];
      reinterpret_cast<uint2*>(shared.halves)[i] =
          make_uint2(round_to_halves(four.x, four.y), round_to_halves(four.z, four.w));
    }
    if (thread == 0) shared.next_image = next;
    __syncthreads();
    next = shared.next_image;
    if (next < batch) {
      shared.load.start(shared.raw, input + std::int64_t{next} * Layer::kInputs,
                        sizeof(float) * Layer::kInputs);
    }
    // Before the outputs are overwritten, the store of the image before must have read them.
    convolve_rows<Layer>(shared.staged, shared.halves, in_registers, [] { block_store_wait(); });
    block_store<Keep::kLong>(output + std::int64_t{image} * Layer::kOutputs, shared.staged,
                             sizeof(float) * Layer::kOutputs);
    image = next;
  }
  block_store_wait();

  // The last block resets the queue for the next launch.
  if (queue != nullptr && thread == 0 &&
      atomicAdd(&queue->finished, 1) == static_cast<int>(gridDim.x) - 1) {
    queue->next = 0;
    queue->finished = 0;
  }
}

}  // namespace convlab::column_pairs
