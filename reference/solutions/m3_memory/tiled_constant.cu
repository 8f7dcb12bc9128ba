// Input tile in shared memory, weights in constant memory, four maps for each thread.
//
// Idea     tiled-shared loads a tile of inputs anew for each map; constant-memory loads each weight
//          by an instruction of its own. Put together as they are, nothing gets better: a
//          multiply-add still loads an input and a weight. So let a thread compute the same pixel
//          of four maps: an input that it has read from the tile serves all four. And let the
//          compiler know the kernel size, so that the loops over the window unroll.
// Picture  one thread, one tap:
//
//              tile of inputs (shared)      i ──▶  sum of map m      += i · weight[m]
//                                             ──▶  sum of map m + 1  += i · weight[m + 1]
//              weights (constant): the same   ──▶  sum of map m + 2  += i · weight[m + 2]
//              four for all threads           ──▶  sum of map m + 3  += i · weight[m + 3]
//
// Cost     one load from shared memory for four multiply-adds, where tiled-shared has two loads for
//          one; a tile is loaded once for four maps; two barriers for each channel; a copy of the
//          weights before each launch. Constants are cheap only while all threads of a warp want
//          the same word.
// Expect   faster than each of its parts, because fewer loads are left, not because of the kind of
//          memory. An earlier form, one map for each thread and loops of unknown length, was five
//          times as slow as the baseline on an H200.
// Run      build/bin/m3 1000 --stage tiled-constant --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/error/error.hpp"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kTile = 16;  // outputs of a block: (kTile, kTile), for kMaps maps
constexpr int kMaps = 4;
constexpr int kMaxGridZ = 65535;
constexpr int kConstantFloats = 16384;

__constant__ float constant_weights[kConstantFloats];  // (maps of the group, taps)

// KernelSize is the shape's, or 0 for any.
template <int KernelSize>
__global__ void conv_forward(float* output, const float* input, ConvShape shape, int first_map,
                             int maps) {
  extern __shared__ float tile[];  // (edge, edge)
  const int kernel = KernelSize > 0 ? KernelSize : shape.kernel;
  const int edge = (kTile - 1) * shape.stride + kernel;
  const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
  const int first_h = blockIdx.x / tiles_across * kTile;
  const int first_w = blockIdx.x % tiles_across * kTile;
  const int h = first_h + threadIdx.y;
  const int w = first_w + threadIdx.x;
  const int group = blockIdx.y * kMaps;  // first map of this block within constant memory
  const int taps = shape.taps();

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    int tap = group * taps;
    float sum[kMaps] = {};
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
#pragma unroll
      for (int p = 0; p < kernel; ++p) {
        const float* row = tile + (threadIdx.y * shape.stride + p) * edge;
#pragma unroll
        for (int q = 0; q < kernel; ++q) {
          const float pixel = row[threadIdx.x * shape.stride + q];
#pragma unroll
          for (int m = 0; m < kMaps; ++m) {
            // Beyond the last map lies nothing that is stored.
            sum[m] += pixel * constant_weights[tap + m * taps + p * kernel + q];
          }
        }
      }
      tap += kernel * kernel;
      __syncthreads();  // everybody is done before the next channel overwrites it
    }
    if (h >= shape.out_height() || w >= shape.out_width()) continue;
    for (int m = 0; m < kMaps && group + m < maps; ++m) {
      output[b * shape.output_image_size() +
             ((first_map + group + m) * shape.out_height() + h) * shape.out_width() + w] = sum[m];
    }
  }
}

using Kernel = void (*)(float*, const float*, ConvShape, int, int);

Kernel kernel_for(int kernel_size) {
  switch (kernel_size) {
    case 3:
      return conv_forward<3>;
    case 5:
      return conv_forward<5>;
    case 7:
      return conv_forward<7>;
    default:
      return conv_forward<0>;
  }
}

class TiledConstant final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // A thread reads kMaps maps at a time, so a group is a multiple of them.
    const int maps_at_once = kConstantFloats / shape.taps() / kMaps * kMaps;
    if (maps_at_once == 0) {
      throw convlab::EnvironmentError("The weights of " + std::to_string(kMaps) + " maps (" +
                                      std::to_string(kMaps * shape.taps()) +
                                      " floats) do not fit into 64 KiB of constant memory; take "
                                      "another stage for this shape.");
    }
    const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
    const int tiles_down = (shape.out_height() + kTile - 1) / kTile;
    const int edge = (kTile - 1) * shape.stride + shape.kernel;
    const std::size_t tile_bytes = sizeof(float) * edge * edge;
    const Kernel kernel = kernel_for(shape.kernel);
    const dim3 block(kTile, kTile);
    for (int first = 0; first < shape.out_channels; first += maps_at_once) {
      const int maps = std::min(maps_at_once, shape.out_channels - first);
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                                 maps * shape.taps() * sizeof(float), 0,
                                                 cudaMemcpyDeviceToDevice));
      const dim3 grid(tiles_across * tiles_down, (maps + kMaps - 1) / kMaps,
                      std::min(shape.batch, kMaxGridZ));
      kernel<<<grid, block, tile_bytes>>>(output, input, shape, first, maps);
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
