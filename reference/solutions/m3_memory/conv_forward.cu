// Tiled convolution in shared memory.
//
// Idea     Neighbouring outputs read overlapping windows: a block of 16×16 outputs would load each
//          input up to K·K = 49 times. Load the tile of inputs under the block once, then read it
//          from shared memory.
// Picture  one block, one channel, stride 1:
//
//              tile of inputs, 16+K-1 wide            outputs of the block, 16 wide
//              i i i i i i i i i i i . . .            o o o o o o o
//              i [K × K window ] i i i . . .    →     o X o o o o o
//              i i i i i i i i i i i . . .            o o o o o o o
//
// Cost     global loads per output: K·K → ((16+K-1)/16)² ≈ 1.9 for K = 7. The inner loop has as
//          many loads as before, but from shared memory; each channel costs two barriers.
// Expect   little: on today's GPUs the first-level cache already serves the repeated loads, and
//          shared memory is the same SRAM behind the same load units. The out_width of 34 leaves
//          most of the last 16-wide tile idle.
// Run      build/bin/m3 1000 --stage tiled-shared --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kTile = 16;  // outputs of a block: (kTile, kTile)
constexpr int kMaxGridZ = 65535;

__global__ void conv_forward(float* output, const float* input, const float* weights,
                             ConvShape shape) {
  extern __shared__ float tile[];  // (edge, edge)
  const int edge = (kTile - 1) * shape.stride + shape.kernel;
  const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
  const int first_h = blockIdx.x / tiles_across * kTile;
  const int first_w = blockIdx.x % tiles_across * kTile;
  const int h = first_h + threadIdx.y;
  const int w = first_w + threadIdx.x;
  const int m = blockIdx.y;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    float sum = 0.0f;
    for (int c = 0; c < shape.in_channels; ++c) {
      const float* plane = image + c * shape.height * shape.width;
      for (int y = threadIdx.y; y < edge; y += kTile) {
        for (int x = threadIdx.x; x < edge; x += kTile) {
          const int row = first_h * shape.stride + y;
          const int column = first_w * shape.stride + x;
          const bool inside = row < shape.height && column < shape.width;
          tile[y * edge + x] = inside ? plane[row * shape.width + column] : 0.0f;
        }
      }
      __syncthreads();  // the tile is complete before any thread reads it
      const float* weight = weights + (m * shape.in_channels + c) * shape.kernel * shape.kernel;
      for (int p = 0; p < shape.kernel; ++p) {
        const float* row = tile + (threadIdx.y * shape.stride + p) * edge;
        for (int q = 0; q < shape.kernel; ++q) {
          sum += row[threadIdx.x * shape.stride + q] * *weight++;
        }
      }
      __syncthreads();  // all threads are done before the next channel overwrites it
    }
    // Not earlier: a thread outside the output also loads its part and waits at the barriers.
    if (h < shape.out_height() && w < shape.out_width()) {
      output[b * shape.output_image_size() + (m * shape.out_height() + h) * shape.out_width() + w] =
          sum;
    }
  }
}

class TiledShared final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
    const int tiles_down = (shape.out_height() + kTile - 1) / kTile;
    const int edge = (kTile - 1) * shape.stride + shape.kernel;
    const dim3 grid(tiles_across * tiles_down, shape.out_channels,
                    std::min(shape.batch, kMaxGridZ));
    const dim3 block(kTile, kTile);
    const std::size_t tile_bytes = sizeof(float) * edge * edge;
    conv_forward<<<grid, block, tile_bytes>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, tile_bytes);
  }
};

const convlab::ConvolutionStage<TiledShared> stage({
    .id = "tiled-shared",
    .title = "Input tile in shared memory",
    .baseline = "baseline",
    .order = 10,
});

}  // namespace
