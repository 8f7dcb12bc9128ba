// Tensor cores, half precision.
//
// Idea     A tensor core multiplies a 16×16 by a 16×16 matrix of halves in one warp-wide operation
//          and adds up in single precision. The fused product already is a matrix product: feed it.
// Picture  a block of 8 warps computes TileMaps maps × 256 columns; each warp keeps its share of
// the
//          sums in accumulator fragments while the taps pass by, 16 at a time:
//
//              weights (TileMaps, taps)  ×  input tile (16, 256)   →   sums (TileMaps, 256)
//              halves, all taps at once     halves, built on the fly   floats, in registers
//
// Cost     the products are almost free; filling the tile is not: one load, one conversion and one
//          store for each tap of each output position, shared by TileMaps maps.
// Expect   a gain that grows with the number of maps: 16 maps use a whole fragment, 4 maps half of
//          the flattest one (8×32×16). Inputs are rounded to 11 bits: precision class fp16.
// Run      build/bin/m4 1000 --stage tensor-cores-fp16 --solution reference

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;
using namespace nvcuda;

constexpr int kTileTaps = 16;      // of one matrix operation
constexpr int kTileColumns = 256;  // one for each thread
constexpr int kWarps = kTileColumns / 32;

// All weights of the block, one slice of the input, and the sums on their way out, which reuse
// nothing of the others so that no barrier is needed between them.
__host__ __device__ constexpr std::size_t shared_bytes(int tile_maps, int padded_taps) {
  return sizeof(half) * (tile_maps * padded_taps + kTileTaps * kTileColumns) +
         sizeof(float) * tile_maps * kTileColumns;
}

// TileMaps × WarpColumns × 16 is a shape that the tensor cores know: 16×16×16 or 8×32×16.
template <int TileMaps, int WarpColumns>
__global__ void conv_forward(float* output, const float* input, const float* weights,
                             ConvShape shape, int padded_taps) {
  constexpr int kFragments = kTileColumns / kWarps / WarpColumns;
  static_assert(kFragments * kWarps * WarpColumns == kTileColumns);
  extern __shared__ __align__(32) char shared[];
  half* weight_tile = reinterpret_cast<half*>(shared);      // (TileMaps, padded_taps)
  half* input_tile = weight_tile + TileMaps * padded_taps;  // (kTileTaps, kTileColumns)
  float* sums = reinterpret_cast<float*>(input_tile + kTileTaps * kTileColumns);
  // (TileMaps, kTileColumns)
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int taps = shape.taps();
  const int first_map = blockIdx.y * TileMaps;
  for (int i = thread; i < TileMaps * padded_taps; i += kTileColumns) {
    const int map = first_map + i / padded_taps;
    const int tap = i % padded_taps;
    weight_tile[i] =
        __float2half(map < shape.out_channels && tap < taps ? weights[map * taps + tap] : 0.0f);
  }

  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const std::int64_t column = std::int64_t{blockIdx.x} * kTileColumns + thread;
  const bool inside = column < columns;
  const std::int64_t image = inside ? column / pixels : 0;
  const int pixel = inside ? column % pixels : 0;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const float* corner =
      input + image * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;

  wmma::fragment<wmma::accumulator, TileMaps, WarpColumns, 16, float> sum[kFragments];
  for (int f = 0; f < kFragments; ++f) wmma::fill_fragment(sum[f], 0.0f);

  int c = 0, p = 0, q = 0;  // of the next tap; counting is cheaper than dividing
  for (int first_tap = 0; first_tap < padded_taps; first_tap += kTileTaps) {
    __syncthreads();  // the slice before has been read
#pragma unroll
    for (int k = 0; k < kTileTaps; ++k) {
      const bool real = first_tap + k < taps;
      const float value = real ? corner[(c * shape.height + p) * shape.width + q] : 0.0f;
      input_tile[k * kTileColumns + thread] = __float2half(value);
      if (++q == shape.kernel) {
        q = 0;
        if (++p == shape.kernel) {
          p = 0;
          ++c;
        }
      }
    }
    __syncthreads();  // this slice is complete
    wmma::fragment<wmma::matrix_a, TileMaps, WarpColumns, 16, half, wmma::row_major> left;
    wmma::load_matrix_sync(left, weight_tile + first_tap, padded_taps);
#pragma unroll
    for (int f = 0; f < kFragments; ++f) {
      wmma::fragment<wmma::matrix_b, TileMaps, WarpColumns, 16, half, wmma::row_major> right;
      wmma::load_matrix_sync(right, input_tile + (warp * kFragments + f) * WarpColumns,
                             kTileColumns);
      wmma::mma_sync(sum[f], left, right, sum[f]);
    }
  }

  // A fragment's layout is nobody's business: the sums go through shared memory.
  for (int f = 0; f < kFragments; ++f) {
    wmma::store_matrix_sync(sums + (warp * kFragments + f) * WarpColumns, sum[f], kTileColumns,
                            wmma::mem_row_major);
  }
  __syncthreads();
  if (!inside) return;
  for (int m = 0; m < TileMaps && first_map + m < shape.out_channels; ++m) {
    output[(image * shape.out_channels + first_map + m) * pixels + pixel] =
        sums[m * kTileColumns + thread];
  }
}

class TensorCoresFp16 final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const std::int64_t columns = std::int64_t{shape.batch} * shape.out_height() * shape.out_width();
    const int padded_taps = (shape.taps() + kTileTaps - 1) / kTileTaps * kTileTaps;
    const int tile_maps = shape.out_channels <= 8 ? 8 : 16;
    const auto kernel = tile_maps == 8 ? conv_forward<8, 32> : conv_forward<16, 16>;
    const dim3 grid((columns + kTileColumns - 1) / kTileColumns,
                    (shape.out_channels + tile_maps - 1) / tile_maps);
    const std::size_t bytes = shared_bytes(tile_maps, padded_taps);
    CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(bytes)));
    kernel<<<grid, kTileColumns, bytes>>>(output, input, weights, shape, padded_taps);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kTileColumns, bytes);
  }
};

const convlab::ConvolutionStage<TensorCoresFp16> stage({
    .id = "tensor-cores-fp16",
    .title = "Tensor cores (WMMA), half precision",
    .baseline = "fused-gemm",
    .order = 130,
    .precision = convlab::Precision::kFp16,
});

}  // namespace
