// Input unrolling and a matrix multiplication in shared memory.
//
// Idea     Write the window of every output as a column of a matrix. Then the convolution is one
//          matrix product, and all known methods for fast matrix products apply.
// Picture
//                 taps                    columns = images · out_height · out_width
//              ┌────────┐              ┌──────────────────────────┐
//     maps     │weights │   ×   taps   │ unrolled input           │   =   output, maps × columns
//              └────────┘              └──────────────────────────┘
//
// Cost     the unrolled input is K·K times the input: 12.5 GB for the first layer of the default
//          network at 10 000 images, with more elements than an int counts. So it is written and
//          read in slices of at most 256 MiB, once each.
// Expect   slower than the later stages: the product has few rows (4 or 16 maps), so the traffic of
//          the unrolled matrix decides. This stage is a step to fused-gemm.
// Code     ../unrolled_input.cuh has the slices, ../tiled_product.cuh the loop over the tiles
// Run      build/bin/m4 1000 --stage im2col-gemm --solution reference

#include <cuda_runtime.h>

#include <cstdint>

#include "reference/solutions/m4_optimizations/tiled_product.cuh"
#include "reference/solutions/m4_optimizations/unrolled_input.cuh"

namespace {

using namespace convlab::tiled_product;
using convlab::ConvShape;

// output = weights (maps, taps) × unrolled (taps, columns).
template <int TileMaps>
__global__ void multiply_tiles(float* output, const float* weights, const float* unrolled, int maps,
                               int taps, std::int64_t columns, int pixels) {
  constexpr int kMapsPerThread = TileMaps / kThreadRows;
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const std::int64_t column = std::int64_t{blockIdx.x} * kTileColumns + x;
  const int first_map = blockIdx.y * TileMaps;

  float sum[kMapsPerThread] = {};
  const auto load_input = [&](InputTile& tile, int first_tap) {
    for (int k = y; k < kTileTaps; k += kThreadRows) {
      const int tap = first_tap + k;
      tile[k][x] = column < columns && tap < taps ? unrolled[tap * columns + column] : 0.0f;
    }
  };
  add_products<TileMaps>(sum, weights, maps, taps, load_input);
  if (column >= columns) return;
  const std::int64_t image = column / pixels;
  for (int m = 0; m < kMapsPerThread; ++m) {
    const int map = first_map + y * kMapsPerThread + m;
    if (map < maps) output[(image * maps + map) * pixels + column % pixels] = sum[m];
  }
}

class Im2colGemm final : public convlab::UnrollingConvolution<false> {
  void multiply(float* output, const float* weights, const ConvShape& slice) override {
    const int pixels = slice.out_height() * slice.out_width();
    const std::int64_t columns = std::int64_t{slice.batch} * pixels;
    const int maps = tile_maps(slice.out_channels);
    const auto kernel = maps == 4 ? multiply_tiles<4> : multiply_tiles<16>;
    const dim3 grid((columns + kTileColumns - 1) / kTileColumns,
                    (slice.out_channels + maps - 1) / maps);
    const dim3 block(kTileColumns, kThreadRows);
    kernel<<<grid, block>>>(output, weights, unrolled_.data(), slice.out_channels, slice.taps(),
                            columns, pixels);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
  }
};

const convlab::LadderStage<Im2colGemm> stage("im2col-gemm",
                                             "Unrolled input, matrix product in shared memory");

}  // namespace
