#pragma once

// One input channel and many maps, on tensor cores in half precision.
//
// Idea     half_convolution.cuh gives a strip of rows to a block. Each block prepares the weights
//          anew, and 12 maps have three times as many as 4. Here a block has a whole image: it
//          loads and converts it once, keeps its weights in registers, and computes one strip after
//          the other.
// Picture  two buffers in turn: while one strip leaves, the next is computed
//
//              compute   strip 0 | strip 1 | strip 2 | …
//              store               strip 0 | strip 1 | …
//
// Cost     two block barriers for each strip

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "column_pairs.cuh"
#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"
#include "common/tensor/conv_shape.hpp"

namespace convlab::column_pairs {

template <class Layer>
struct WholeImageShared {
  static constexpr int kInputs = Layer::kSize * Layer::kSize;
  union {                             // the raw image is dead when the first strip is stored
    alignas(128) float raw[kInputs];  // (row, column)
    alignas(128) float staged[2][Layer::kStaged];  // (map, strip row, column), in turn
  };
  alignas(16) HalfPair halves[kInputs / 2 + Layer::kPadding];
  HalfPair table[Layer::kTable];  // (parity, map, kernel row, 4 pairs of taps)
  BlockLoad load;
};

template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, 4)
    convolve_whole_images(float* __restrict__ output, const float* __restrict__ input,
                          const float* __restrict__ weights) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<WholeImageShared<Layer>*>(memory);
  constexpr int kOut = Layer::kOut;
  constexpr int kRowPairs = Layer::kSize / 2;
  constexpr int kInputs = WholeImageShared<Layer>::kInputs;
  static_assert(!Layer::kDirect && kInputs % 4 == 0);

  shared.load.init();
  shared.load.start(shared.raw, input + std::int64_t{blockIdx.x} * kInputs,
                    sizeof(float) * kInputs);
#pragma unroll
  for (int i = threadIdx.x; i < Layer::kTableEntries; i += Layer::kThreads) {
    const typename Layer::TableEntry entry(i);
    const float2 two = weight_pair(weights + entry.weight_row(), Layer::kKernel, entry.parity,
                                   entry.q, entry.real());
    shared.table[entry.place()] = round_to_halves(two.x, two.y);
  }
  if (threadIdx.x < Layer::kPadding) shared.halves[kInputs / 2 + threadIdx.x] = 0;
  __syncthreads();
  shared.load.wait(0);
  for (int i = threadIdx.x; i < kInputs / 4; i += Layer::kThreads) {
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

  float* image_output = output + std::int64_t{blockIdx.x} * Layer::kMaps * kOut * kOut;
#pragma unroll 1
  for (int strip = 0; strip < Layer::kStrips; ++strip) {
    float* staged = shared.staged[strip % 2];
    const HalfPair* taps =
        shared.halves + strip * Layer::kStripRows * kRowPairs + column / 2 + g + q;
    block_store_wait<1>();  // the strip before the last has left
    HalfPair row[Layer::kStripInputRows];
#pragma unroll
    for (int y = 0; y < Layer::kKernel - 1; ++y) row[y] = taps[y * kRowPairs];
#pragma unroll
    for (int y = 0; y < Layer::kStripRows; y += 2) {
#pragma unroll
      for (int i = Layer::kKernel - 1; i <= Layer::kKernel; ++i) {
        row[y + i] = taps[(y + i) * kRowPairs];
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
        store_new_columns(staged + (map * Layer::kStripRows + y + row_of_two) * kOut,
                          column + 4 * q, tile * kTileColumns, four);
      }
    }
    block_store(image_output + strip * Layer::kStripRows * kOut, staged,
                sizeof(float) * Layer::kStripRows * kOut, Layer::kMaps,
                sizeof(float) * kOut * kOut);
  }
  block_store_wait();
}

}  // namespace convlab::column_pairs
