#pragma once

// A matrix product in tiles: the code that im2col-gemm, fused-gemm and index-reuse share. They
// differ in how they load a tile of the unrolled input into shared memory.

#include <cuda_runtime.h>

namespace convlab::tiled_product {

constexpr int kTileColumns = 64;
constexpr int kTileTaps = 16;
constexpr int kThreadRows = 4;  // the block is (kThreadRows, kTileColumns) threads
constexpr int kThreads = kThreadRows * kTileColumns;

using InputTile = float[kTileTaps][kTileColumns];

/// The maps of a block's tile: with few maps most of a tall tile would be idle.
inline int tile_maps(int out_channels) {
  return out_channels <= 4 ? 4 : 16;
}

/// sum += weights (maps, taps) × unrolled input (taps, columns). A block computes TileMaps ×
/// kTileColumns products, each thread TileMaps / kThreadRows maps of one column.
/// @param load_input  load_input(tile, first_tap) stores this thread's part of the tile that begins
///                    with this tap: column threadIdx.x, every kThreadRows-th row from threadIdx.y
///                    on
template <int TileMaps, class LoadInput>
__device__ void add_products(float (&sum)[TileMaps / kThreadRows], const float* weights, int maps,
                             int taps, LoadInput load_input) {
  constexpr int kMapsPerThread = TileMaps / kThreadRows;
  __shared__ float weight_tile[kTileTaps][TileMaps];  // (taps, maps)
  __shared__ InputTile input_tile;                    // (taps, columns)
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int thread = y * kTileColumns + x;
  const int first_map = blockIdx.y * TileMaps;
  for (int first_tap = 0; first_tap < taps; first_tap += kTileTaps) {
    for (int i = thread; i < kTileTaps * TileMaps; i += kThreads) {
      const int tap = first_tap + i / TileMaps;
      const int map = first_map + i % TileMaps;
      weight_tile[i / TileMaps][i % TileMaps] =
          map < maps && tap < taps ? weights[map * taps + tap] : 0.0f;
    }
    load_input(input_tile, first_tap);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTileTaps; ++k) {
#pragma unroll
      for (int m = 0; m < kMapsPerThread; ++m) {
        sum[m] += weight_tile[k][y * kMapsPerThread + m] * input_tile[k][x];
      }
    }
    __syncthreads();
  }
}

}  // namespace convlab::tiled_product
