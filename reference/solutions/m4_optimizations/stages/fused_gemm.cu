// The matrix product of im2col-gemm without the matrix.
//
// Idea     The unrolled input is only a rearrangement of the input. Build each tile in shared
//          memory directly from the image when the product needs it.
// Picture  that of im2col-gemm without the large matrix. Tap (c, p, q) has the same offset in every
//          window, so a table of offsets replaces divisions:
//
//              offset[c·K·K + p·K + q] = (c · height + p) · width + q
//
// Cost     loads of the input (several, mostly from the caches) and stores of the output; no
//          slices. If a thread computes one map, still two loads from shared memory for each
//          multiply-add, and a load and a store to fill each tile element.
// Expect   twice as fast as im2col-gemm; shared memory is now the limit.
// Code     the loop over the tiles is in ../tiled_product.cuh
// Run      build/bin/m4 1000 --stage fused-gemm --solution reference

#include <cuda_runtime.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/tiled_product.cuh"

namespace {

using namespace convlab::tiled_product;
using convlab::ConvShape;

// A block computes TileMaps × kTileColumns outputs, each thread TileMaps / kThreadRows maps of one
// column; a column is one output position of one image.
template <int TileMaps>
__global__ void conv_forward(float* output, const float* input, const float* weights,
                             ConvShape shape) {
  constexpr int kMapsPerThread = TileMaps / kThreadRows;
  extern __shared__ int offset[];  // (taps)
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int thread = y * kTileColumns + x;
  const int taps = shape.taps();
  const int window = shape.kernel * shape.kernel;
  for (int tap = thread; tap < taps; tap += kThreads) {
    const int c = tap / window;
    const int p = tap % window / shape.kernel;
    const int q = tap % shape.kernel;
    offset[tap] = (c * shape.height + p) * shape.width + q;
  }
  __syncthreads();

  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const std::int64_t column = std::int64_t{blockIdx.x} * kTileColumns + x;
  const std::int64_t image = column / pixels;
  const int pixel = column % pixels;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const float* corner =
      input + image * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;
  const int first_map = blockIdx.y * TileMaps;

  float sum[kMapsPerThread] = {};
  const auto load_input = [&](InputTile& tile, int first_tap) {
    for (int k = y; k < kTileTaps; k += kThreadRows) {
      const int tap = first_tap + k;
      tile[k][x] = column < columns && tap < taps ? corner[offset[tap]] : 0.0f;
    }
  };
  add_products<TileMaps>(sum, weights, shape.out_channels, taps, load_input);
  if (column >= columns) return;
  for (int m = 0; m < kMapsPerThread; ++m) {
    const int map = first_map + y * kMapsPerThread + m;
    if (map < shape.out_channels) {
      output[(image * shape.out_channels + map) * pixels + pixel] = sum[m];
    }
  }
}

class FusedGemm final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const std::int64_t columns = std::int64_t{shape.batch} * shape.out_height() * shape.out_width();
    const int maps = tile_maps(shape.out_channels);
    const auto kernel = maps == 4 ? conv_forward<4> : conv_forward<16>;
    const dim3 grid((columns + kTileColumns - 1) / kTileColumns,
                    (shape.out_channels + maps - 1) / maps);
    const dim3 block(kTileColumns, kThreadRows);
    const std::size_t table_bytes = sizeof(int) * shape.taps();
    kernel<<<grid, block, table_bytes>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, table_bytes);
  }
};

const convlab::LadderStage<FusedGemm> stage("fused-gemm",
                                            "Matrix product, input unrolled on the fly");

}  // namespace
