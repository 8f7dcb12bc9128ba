#pragma once

// Convolution of strips by WMMA: the code that tensor-cores-fp16 and tensor-cores-tf32 share. Their
// files explain the matrices; here are the loops over them.

#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "reference/solutions/m4_optimizations/any_shape_product.cuh"
#include "reference/solutions/m4_optimizations/strips.cuh"

namespace convlab::tensor_cores {

constexpr int kTile = 16;  // rows and columns of one operation
constexpr int kMapsPerTile = kTile / kGroupColumns;

/// A window of 16 input columns is one or two chunks, as deep as an operation.
/// @tparam Operand  HalfOperand or Tf32Operand
template <class Operand>
struct Chunk {
  static constexpr int kDepth = Operand::kTileTaps;
  static constexpr int kChunks = kWindowColumns / kDepth;  // of a window
  static constexpr int kMore = kChunks - 1;                // chunks of a row beyond its windows
  static constexpr int kMatrix = kTile * kDepth;
};

/// matrices (channels, kernel, kChunks, maps · 8, kDepth): row m·8 + j holds a kernel row, shifted
/// by j.
template <class Operand>
__device__ void spread_weights(typename Operand::Stored* matrices, const float* weights,
                               const ConvShape& shape, int first_map, int rows) {
  constexpr int kDepth = Chunk<Operand>::kDepth;
  constexpr int kChunks = Chunk<Operand>::kChunks;
  const int count = shape.in_channels * shape.kernel * kChunks * rows * kDepth;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int row = i / kDepth % rows;
    const int chunk = i / kDepth / rows % kChunks;
    const int channel_row = i / kDepth / rows / kChunks;  // c · kernel + p
    const int map = first_map + row / kGroupColumns;
    const int q = chunk * kDepth + i % kDepth - row % kGroupColumns;
    const bool real = map < shape.out_channels && q >= 0 && q < shape.kernel;
    matrices[i] = Operand::rounded(
        real ? weights[(map * shape.in_channels * shape.kernel + channel_row) * shape.kernel + q]
             : 0.0f);
  }
}

/// A warp computes MapTiles × WindowTiles products of 16×16 at a time: each weight fragment that it
/// loads serves WindowTiles operations, each input fragment MapTiles.
/// @tparam Operand  also has load, which loads a fragment from shared memory, and load_input, which
///                  stores a strip there as chunks (channels, input_rows, pitch, kDepth)
template <class Operand, int MapTiles, int WindowTiles>
__device__ void convolve_strips(float* __restrict__ output, const float* __restrict__ input,
                                const float* __restrict__ weights, const ConvShape& shape,
                                const Strips& strips) {
  namespace wmma = nvcuda::wmma;
  using Stored = typename Operand::Stored;
  using Fragment = typename Operand::Fragment;
  constexpr int kDepth = Chunk<Operand>::kDepth;
  constexpr int kChunks = Chunk<Operand>::kChunks;
  constexpr int kMatrix = Chunk<Operand>::kMatrix;
  constexpr int kUnit = WindowTiles * kTile;
  const int pitch = strips.groups + Chunk<Operand>::kMore;  // chunks of a row
  const Divider by_pitch(pitch);
  const int input_rows = strips.rows + shape.kernel - 1;
  extern __shared__ __align__(32) char shared[];
  float* scratch = reinterpret_cast<float*>(shared);  // (kWarps, 16 windows, 16 rows)
  // (channels, kernel, kChunks, MapTiles · 16, kDepth)
  Stored* matrices = reinterpret_cast<Stored*>(scratch + kWarps * kTile * kTile);
  // (channels, input_rows, pitch, kDepth)
  Stored* chunks = matrices + shape.in_channels * shape.kernel * kChunks * MapTiles * kMatrix;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int first_map = blockIdx.y * MapTiles * kMapsPerTile;
  const int pixels = shape.out_height() * shape.out_width();
  float* mine = scratch + warp * kTile * kTile;
  spread_weights<Operand>(matrices, weights, shape, first_map, MapTiles * kTile);

  const std::int64_t work = std::int64_t{shape.batch} * strips.count;
  for (std::int64_t item = blockIdx.x; item < work; item += gridDim.x) {
    const std::int64_t image = item / strips.count;
    const int first_row = item % strips.count * strips.rows;
    __syncthreads();  // all warps have read the strip before
    Operand::load_input(chunks, input + image * shape.input_image_size(), shape, first_row,
                        input_rows, pitch);
    __syncthreads();  // this strip is complete
    const int rows = min(strips.rows, shape.out_height() - first_row);

    for (int first = warp * kUnit; first < rows * pitch - Chunk<Operand>::kMore;
         first += kWarps * kUnit) {
      wmma::fragment<wmma::accumulator, kTile, kTile, kDepth, float> sum[MapTiles][WindowTiles];
#pragma unroll
      for (int m = 0; m < MapTiles; ++m) {
#pragma unroll
        for (int n = 0; n < WindowTiles; ++n) wmma::fill_fragment(sum[m][n], 0.0f);
      }
      const Stored* matrix = matrices;
      for (int c = 0; c < shape.in_channels; ++c) {
        const Stored* chunk = chunks + (c * input_rows * pitch + first) * kDepth;
        for (int p = 0; p < shape.kernel; ++p) {
#pragma unroll
          for (int part = 0; part < kChunks; ++part) {
            wmma::fragment<wmma::matrix_b, kTile, kTile, kDepth, Fragment, wmma::col_major>
                right[WindowTiles];
#pragma unroll
            for (int n = 0; n < WindowTiles; ++n) {
              Operand::load(right[n], chunk + (n * kTile + part) * kDepth);
            }
#pragma unroll
            for (int m = 0; m < MapTiles; ++m) {
              wmma::fragment<wmma::matrix_a, kTile, kTile, kDepth, Fragment, wmma::row_major> left;
              Operand::load(left, matrix + m * kMatrix);
#pragma unroll
              for (int n = 0; n < WindowTiles; ++n) {
                wmma::mma_sync(sum[m][n], left, right[n], sum[m][n]);
              }
            }
            matrix += MapTiles * kMatrix;
          }
          chunk += pitch * kDepth;  // the next input row of the same outputs
        }
      }

      // CUDA does not define the layout of a fragment, so the sums go through shared memory, 16×16
      // at a time. A warp then stores 8 neighbouring outputs of 4 neighbouring groups. The chunks
      // of a row beyond its windows are not outputs.
#pragma unroll
      for (int n = 0; n < WindowTiles; ++n) {
        constexpr int kSteps = kTile / (32 / kGroupColumns);
        int place[kSteps];  // in the output map; -1: outside
#pragma unroll
        for (int i = 0; i < kSteps; ++i) {
          const int window = first + n * kTile + i * (32 / kGroupColumns) + lane / kGroupColumns;
          const int h = by_pitch.quotient(window);
          const int w = by_pitch.remainder(window) * kGroupColumns + lane % kGroupColumns;
          place[i] =
              h < rows && w < shape.out_width() ? (first_row + h) * shape.out_width() + w : -1;
        }
#pragma unroll
        for (int m = 0; m < MapTiles; ++m) {
          wmma::store_matrix_sync(mine, sum[m][n], kTile, wmma::mem_col_major);
          __syncwarp();
#pragma unroll
          for (int half_tile = 0; half_tile < kMapsPerTile; ++half_tile) {
            const int map = first_map + m * kMapsPerTile + half_tile;
            float* to = output + (image * shape.out_channels + map) * pixels;
#pragma unroll
            for (int i = 0; i < kSteps; ++i) {
              const float value = mine[(i * (32 / kGroupColumns) + lane / kGroupColumns) * kTile +
                                       half_tile * kGroupColumns + lane % kGroupColumns];
              if (map < shape.out_channels && place[i] >= 0) to[place[i]] = value;
            }
          }
          __syncwarp();
        }
      }
    }
  }
}

template <class Operand, int MapTiles, int WindowTiles>
__global__ void __launch_bounds__(kThreads, 2)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape, Strips strips) {
  if constexpr (Operand::kAvailable) {
    convolve_strips<Operand, MapTiles, WindowTiles>(output, input, weights, shape, strips);
  }
}

/// A stage that launches this kernel.
template <class Operand>
class WmmaStrips : public StripConvolution {
 protected:
  template <int MapTiles, int WindowTiles>
  bool plan_tiles() {
    using Layout = Chunk<Operand>;
    const std::int64_t weights = std::int64_t{shape().in_channels} * shape().kernel *
                                 Layout::kChunks * MapTiles * Layout::kMatrix;
    // Tiles at the end of the last channel may read past it.
    const std::int64_t padding = (WindowTiles * kTile + Layout::kMore) * Layout::kDepth;
    const int groups = (shape().out_width() + kGroupColumns - 1) / kGroupColumns;
    const std::int64_t row =
        std::int64_t{shape().in_channels} * (groups + Layout::kMore) * Layout::kDepth;
    constexpr int kOne = sizeof(typename Operand::Stored);
    return plan(conv_forward<Operand, MapTiles, WindowTiles>, MapTiles * kMapsPerTile,
                kOne * (weights + padding) + sizeof(float) * kWarps * kTile * kTile, kOne * row);
  }
};

}  // namespace convlab::tensor_cores
