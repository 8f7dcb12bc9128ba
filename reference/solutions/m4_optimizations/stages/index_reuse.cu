// The indices of fused-gemm, computed once.
//
// Idea     fused-gemm computes the address of each element of its tiles: a block divides for every
//          tap, a thread divides a 64-bit column number by the pixels of an image. The results do
//          not depend on the data and are the same for every image. Store them in two tables when
//          the sizes are known, and let a block stay within one image.
// Picture  unrolled[t][i] of image b lies at
//
//              input + b · image_size + tap_offset[t] + pixel_offset[i]
//                                       └ taps ints ┘   └ pixels ints ┘
//
// Cost     one load of 4 bytes for a thread's pixel and one for each tap of the block, both from
//          the caches; the only division is that of the block's number. The product is that of
//          fused-gemm: two loads from shared memory for each multiply-add if a thread computes one
//          map.
// Expect   a gain if index arithmetic is a large part of the work, so more in the first convolution
//          (49 taps for a column) than in the second (196).
// Code     the loop over the tiles is in ../tiled_product.cuh
// Run      build/bin/m4 1000 --stage index-reuse --solution reference

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/tiled_product.cuh"

namespace {

using namespace convlab::tiled_product;
using convlab::ConvShape;

// All columns of a block belong to one image.
template <int TileMaps>
__global__ void conv_forward(float* output, const float* input, const float* weights,
                             const int* tap_offset, const int* pixel_offset, ConvShape shape,
                             int tiles) {
  constexpr int kMapsPerThread = TileMaps / kThreadRows;
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int taps = shape.taps();
  const int pixels = shape.out_height() * shape.out_width();
  const int image = blockIdx.x / tiles;
  const int pixel = blockIdx.x % tiles * kTileColumns + x;
  const int first_map = blockIdx.y * TileMaps;
  // A thread beyond the last pixel loads the last one's inputs and does not store.
  const float* corner =
      input + image * shape.input_image_size() + pixel_offset[min(pixel, pixels - 1)];

  float sum[kMapsPerThread] = {};
  const auto load_input = [&](InputTile& tile, int first_tap) {
#pragma unroll
    for (int k = y; k < kTileTaps; k += kThreadRows) {
      const int tap = first_tap + k;
      tile[k][x] = tap < taps ? corner[tap_offset[tap]] : 0.0f;
    }
  };
  add_products<TileMaps>(sum, weights, shape.out_channels, taps, load_input);
  if (pixel >= pixels) return;
  for (int m = 0; m < kMapsPerThread; ++m) {
    const int map = first_map + y * kMapsPerThread + m;
    if (map < shape.out_channels) {
      output[image * shape.output_image_size() + std::int64_t{map} * pixels + pixel] = sum[m];
    }
  }
}

class IndexReuse final : public convlab::DeviceConvolution {
  // The tables depend only on the sizes, not on the data, so they are not part of the convolution.
  void prepare() override {
    std::vector<int> taps;
    for (int c = 0; c < shape().in_channels; ++c) {
      for (int p = 0; p < shape().kernel; ++p) {
        for (int q = 0; q < shape().kernel; ++q) {
          taps.push_back((c * shape().height + p) * shape().width + q);
        }
      }
    }
    std::vector<int> pixels;
    for (int h = 0; h < shape().out_height(); ++h) {
      for (int w = 0; w < shape().out_width(); ++w) {
        pixels.push_back((h * shape().width + w) * shape().stride);
      }
    }
    tap_offset_ = convlab::DeviceBuffer<int>(static_cast<std::int64_t>(taps.size()));
    tap_offset_.copy_from_host(taps.data());
    pixel_offset_ = convlab::DeviceBuffer<int>(static_cast<std::int64_t>(pixels.size()));
    pixel_offset_.copy_from_host(pixels.data());
  }

  void release() override {
    tap_offset_ = {};
    pixel_offset_ = {};
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int pixels = shape.out_height() * shape.out_width();
    const int tiles = (pixels + kTileColumns - 1) / kTileColumns;
    const int maps = tile_maps(shape.out_channels);
    const auto kernel = maps == 4 ? conv_forward<4> : conv_forward<16>;
    const dim3 grid(static_cast<unsigned>(tiles) * static_cast<unsigned>(shape.batch),
                    (shape.out_channels + maps - 1) / maps);
    const dim3 block(kTileColumns, kThreadRows);
    kernel<<<grid, block>>>(output, input, weights, tap_offset_.data(), pixel_offset_.data(), shape,
                            tiles);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
  }

  convlab::DeviceBuffer<int> tap_offset_;
  convlab::DeviceBuffer<int> pixel_offset_;
};

const convlab::LadderStage<IndexReuse> stage("index-reuse",
                                             "Matrix product with precomputed indices");

}  // namespace
