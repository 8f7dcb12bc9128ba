#pragma once

// The convolution as a matrix product on tensor cores, for every kernel size and stride. The
// tensor-core stages launch it if their fast kernel does not fit the shape.
//
// Picture  a block of 8 warps computes TileMaps maps × 256 columns; each warp keeps its share of
//          the sums in accumulator fragments. The block processes kTileTaps taps at a time:
//
//              weights (TileMaps, taps)  ×  input tile (kTileTaps, 256)   →   sums (TileMaps, 256)
//              all taps at once             built on the fly                  floats, in registers
//
// Cost     almost all time goes into filling the tile: one load, one conversion and one store for
//          each tap of each output position, shared by TileMaps maps.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"

namespace convlab::tensor_cores {

/// Operands in half precision.
struct HalfOperand {
  static constexpr bool kAvailable = true;
  using Fragment = half;
  using Stored = half;
  static constexpr int kTileTaps = 16;
  static __device__ Stored rounded(float value) { return __float2half(value); }
};

/// Operands in TF32: floats with 10 bits of the fraction. They need compute capability 8.0; for
/// older GPUs the kernels are empty and never launched.
struct Tf32Operand {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  static constexpr bool kAvailable = true;
  using Fragment = nvcuda::wmma::precision::tf32;
  using Stored = float;
  static constexpr int kTileTaps = 8;
  static __device__ Stored rounded(float value) {
    return nvcuda::wmma::__float_to_tf32(value);
  }
#else
  static constexpr bool kAvailable = false;
  using Stored = float;
  static constexpr int kTileTaps = 8;
  static __device__ Stored rounded(float value) {
    return value;
  }
#endif
};

inline constexpr int kProductColumns = 256;  // of a block, one for each thread
inline constexpr int kProductWarps = kProductColumns / 32;

// TileMaps × WarpColumns × kTileTaps must be a shape of the tensor cores.
template <class Operand, int TileMaps, int WarpColumns>
__device__ void multiply_any_shape(float* output, const float* input, const float* weights,
                                   const ConvShape& shape, int padded_taps) {
  namespace wmma = nvcuda::wmma;
  using Stored = typename Operand::Stored;
  constexpr int kTileTaps = Operand::kTileTaps;
  constexpr int kFragments = kProductColumns / kProductWarps / WarpColumns;
  static_assert(kFragments * kProductWarps * WarpColumns == kProductColumns);
  extern __shared__ __align__(32) char shared[];
  Stored* weight_tile = reinterpret_cast<Stored*>(shared);  // (TileMaps, padded_taps)
  // (kTileTaps, kProductColumns)
  Stored* input_tile = weight_tile + TileMaps * padded_taps;
  // (TileMaps, kProductColumns)
  float* sums = reinterpret_cast<float*>(input_tile + kTileTaps * kProductColumns);
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int taps = shape.taps();
  const int first_map = blockIdx.y * TileMaps;
  for (int i = thread; i < TileMaps * padded_taps; i += kProductColumns) {
    const int map = first_map + i / padded_taps;
    const int tap = i % padded_taps;
    weight_tile[i] =
        Operand::rounded(map < shape.out_channels && tap < taps ? weights[map * taps + tap] : 0.0f);
  }

  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const std::int64_t column = std::int64_t{blockIdx.x} * kProductColumns + thread;
  const bool inside = column < columns;
  const std::int64_t image = inside ? column / pixels : 0;
  const int pixel = inside ? column % pixels : 0;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const float* corner =
      input + image * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;

  wmma::fragment<wmma::accumulator, TileMaps, WarpColumns, kTileTaps, float> sum[kFragments];
  for (int f = 0; f < kFragments; ++f) wmma::fill_fragment(sum[f], 0.0f);

  int c = 0, p = 0, q = 0;  // of the next tap; counting is cheaper than dividing
  for (int first_tap = 0; first_tap < padded_taps; first_tap += kTileTaps) {
    __syncthreads();  // all warps have read the slice before
#pragma unroll
    for (int k = 0; k < kTileTaps; ++k) {
      const bool real = first_tap + k < taps;
      const float value = real ? corner[(c * shape.height + p) * shape.width + q] : 0.0f;
      input_tile[k * kProductColumns + thread] = Operand::rounded(value);
      if (++q == shape.kernel) {
        q = 0;
        if (++p == shape.kernel) {
          p = 0;
          ++c;
        }
      }
    }
    __syncthreads();  // this slice is complete
    wmma::fragment<wmma::matrix_a, TileMaps, WarpColumns, kTileTaps, typename Operand::Fragment,
                   wmma::row_major>
        left;
    wmma::load_matrix_sync(left, weight_tile + first_tap, padded_taps);
#pragma unroll
    for (int f = 0; f < kFragments; ++f) {
      wmma::fragment<wmma::matrix_b, TileMaps, WarpColumns, kTileTaps, typename Operand::Fragment,
                     wmma::row_major>
          right;
      wmma::load_matrix_sync(right, input_tile + (warp * kFragments + f) * WarpColumns,
                             kProductColumns);
      wmma::mma_sync(sum[f], left, right, sum[f]);
    }
  }

  // CUDA does not define the layout of a fragment, so the sums go through shared memory.
  for (int f = 0; f < kFragments; ++f) {
    wmma::store_matrix_sync(sums + (warp * kFragments + f) * WarpColumns, sum[f], kProductColumns,
                            wmma::mem_row_major);
  }
  __syncthreads();
  if (!inside) return;
  for (int m = 0; m < TileMaps && first_map + m < shape.out_channels; ++m) {
    output[(image * shape.out_channels + first_map + m) * pixels + pixel] =
        sums[m * kProductColumns + thread];
  }
}

template <class Operand, int TileMaps, int WarpColumns>
__global__ void any_shape_product(float* output, const float* input, const float* weights,
                                  ConvShape shape, int padded_taps) {
  if constexpr (Operand::kAvailable) {
    multiply_any_shape<Operand, TileMaps, WarpColumns>(output, input, weights, shape, padded_taps);
  }
}

template <class Operand, int TileMaps, int WarpColumns>
void launch_any_shape(float* output, const float* input, const float* weights,
                      const ConvShape& shape) {
  constexpr int kTileTaps = Operand::kTileTaps;
  const int padded_taps = (shape.taps() + kTileTaps - 1) / kTileTaps * kTileTaps;
  const std::int64_t columns = std::int64_t{shape.batch} * shape.out_height() * shape.out_width();
  const dim3 grid((columns + kProductColumns - 1) / kProductColumns,
                  (shape.out_channels + TileMaps - 1) / TileMaps);
  const std::size_t bytes =
      sizeof(typename Operand::Stored) * (TileMaps * padded_taps + kTileTaps * kProductColumns) +
      sizeof(float) * TileMaps * kProductColumns;
  const auto kernel = any_shape_product<Operand, TileMaps, WarpColumns>;
  CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(bytes)));
  kernel<<<grid, kProductColumns, bytes>>>(output, input, weights, shape, padded_taps);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, kProductColumns, bytes);
}

}  // namespace convlab::tensor_cores
