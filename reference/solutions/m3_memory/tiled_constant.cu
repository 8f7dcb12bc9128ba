// Input tile in shared memory, weights in constant memory.
//
// Idea     The two stages before at once: then the inner loop touches no global memory at all.
// Picture  tiled-shared's tile; constant-memory's weights, in groups of maps that fit into 64 KiB
// Cost     per multiply-add one load from shared and one from constant memory; two barriers for
//          each channel; a copy of the weights before each launch.
// Expect   the sum of both effects, and both are small or negative today. Nothing here reduces the
//          number of loads for each multiply-add, and that number is the limit.
// Run      build/bin/m3 1000 --stage tiled-constant --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/error/error.hpp"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kTile = 16;  // outputs of a block: (kTile, kTile)
constexpr int kMaxGridZ = 65535;
constexpr int kConstantFloats = 16384;

__constant__ float constant_weights[kConstantFloats];  // (maps of the group, taps)

__global__ void conv_forward(float* output, const float* input, ConvShape shape, int first_map) {
  extern __shared__ float tile[];  // (edge, edge)
  const int edge = (kTile - 1) * shape.stride + shape.kernel;
  const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
  const int first_h = blockIdx.x / tiles_across * kTile;
  const int first_w = blockIdx.x % tiles_across * kTile;
  const int h = first_h + threadIdx.y;
  const int w = first_w + threadIdx.x;
  const int m = first_map + blockIdx.y;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    int tap = blockIdx.y * shape.taps();
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
      __syncthreads();  // the tile is complete before anybody reads it
      for (int p = 0; p < shape.kernel; ++p) {
        const float* row = tile + (threadIdx.y * shape.stride + p) * edge;
        for (int q = 0; q < shape.kernel; ++q) {
          sum += row[threadIdx.x * shape.stride + q] * constant_weights[tap++];
        }
      }
      __syncthreads();  // everybody is done before the next channel overwrites it
    }
    if (h < shape.out_height() && w < shape.out_width()) {
      output[b * shape.output_image_size() + (m * shape.out_height() + h) * shape.out_width() + w] =
          sum;
    }
  }
}

class TiledConstant final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int maps_at_once = kConstantFloats / shape.taps();
    if (maps_at_once == 0) {
      throw convlab::EnvironmentError("The weights of one map (" + std::to_string(shape.taps()) +
                                      " floats) do not fit into 64 KiB of constant memory; take "
                                      "another stage for this shape.");
    }
    const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
    const int tiles_down = (shape.out_height() + kTile - 1) / kTile;
    const int edge = (kTile - 1) * shape.stride + shape.kernel;
    const std::size_t tile_bytes = sizeof(float) * edge * edge;
    const dim3 block(kTile, kTile);
    for (int first = 0; first < shape.out_channels; first += maps_at_once) {
      const int maps = std::min(maps_at_once, shape.out_channels - first);
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                                 maps * shape.taps() * sizeof(float), 0,
                                                 cudaMemcpyDeviceToDevice));
      const dim3 grid(tiles_across * tiles_down, maps, std::min(shape.batch, kMaxGridZ));
      conv_forward<<<grid, block, tile_bytes>>>(output, input, shape, first);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, block, tile_bytes);
    }
  }
};

const convlab::ConvolutionStage<TiledConstant> stage({
    .id = "tiled-constant",
    .title = "Input tile in shared, weights in constant memory",
    .baseline = "baseline",
    .order = 30,
});

}  // namespace
