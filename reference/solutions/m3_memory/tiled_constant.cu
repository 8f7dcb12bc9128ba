// Input tile in shared memory, weights in constant memory, four maps for each thread.
//
// Idea     tiled-shared loads the tile of inputs again for each map; constant-memory loads each
//          weight with one instruction. Together they gain nothing: a multiply-add still loads an
//          input and a weight. So let a thread compute the same pixel of four maps: an input from
//          the tile then serves all four. Store the weights of these four maps side by side, so
//          that one constant load of 16 bytes brings all of them.
// Picture  one thread, one tap:
//
//              tile of inputs (shared)      i ──▶  sum of map m      += i · four.x
//                                             ──▶  sum of map m + 1  += i · four.y
//              weights (constant): four,      ──▶  sum of map m + 2  += i · four.z
//              the same for all threads       ──▶  sum of map m + 3  += i · four.w
//
// Cost     one load from shared and one from constant memory for four multiply-adds, where
//          tiled-shared has two loads for one; a tile is loaded once for four maps; two barriers
//          for each channel; a kernel that orders the weights, and their copy, before each launch.
// Expect   faster than each of its parts. But constant memory costs time even if all threads of a
//          warp read the same word: a multiprocessor caches few constants, and the 16 or so
//          multiprocessors of a cluster (GPC) share the next cache, which answers one request in
//          two cycles. With the weights in their usual order, nearly every second multiply-add of
//          the second layer went there: 119 ms on an H200. The chapter has the counters.
// Run      build/bin/m3 1000 --stage tiled-constant --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/constant_groups.cuh"
#include "reference/solutions/kernel_size.hpp"

namespace {

using convlab::ConvShape;

constexpr int kTile = 16;  // outputs of a block: (kTile, kTile), for kMaps maps
constexpr int kMaps = 4;
constexpr int kMaxGridZ = 65535;
constexpr int kConstantFloats = convlab::kConstantBytes / sizeof(float);
constexpr int kOrderBlock = 256;

static_assert(kMaps == 4, "the weights of one tap are a float4");

// (groups of kMaps maps, taps): the weights of one tap for the maps of a group
__constant__ float4 constant_weights[kConstantFloats / kMaps];

// From (maps, taps) to the order of constant_weights; zeros for maps that do not exist.
__global__ void order_weights(float* ordered, const float* weights, int maps, int taps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int map = i / kMaps / taps * kMaps + i % kMaps;
  if (i / kMaps / taps * kMaps >= maps) return;
  ordered[i] = map < maps ? weights[map * taps + i / kMaps % taps] : 0.0f;
}

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

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    int tap = blockIdx.y * shape.taps();
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
      __syncthreads();  // the tile is complete before any thread reads it
#pragma unroll
      for (int p = 0; p < kernel; ++p) {
        const float* row = tile + (threadIdx.y * shape.stride + p) * edge;
#pragma unroll
        for (int q = 0; q < kernel; ++q) {
          const float pixel = row[threadIdx.x * shape.stride + q];
          const float4 four = constant_weights[tap + p * kernel + q];
          sum[0] += pixel * four.x;
          sum[1] += pixel * four.y;
          sum[2] += pixel * four.z;
          sum[3] += pixel * four.w;
        }
      }
      tap += kernel * kernel;
      __syncthreads();  // all threads are done before the next channel overwrites it
    }
    if (h >= shape.out_height() || w >= shape.out_width()) continue;
    for (int m = 0; m < kMaps && group + m < maps; ++m) {
      output[b * shape.output_image_size() +
             ((first_map + group + m) * shape.out_height() + h) * shape.out_width() + w] = sum[m];
    }
  }
}

class TiledConstant final : public convlab::DeviceConvolution {
  void prepare() override { ordered_ = convlab::DeviceBuffer<float>(kConstantFloats); }
  void release() override { ordered_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int tiles_across = (shape.out_width() + kTile - 1) / kTile;
    const int tiles_down = (shape.out_height() + kTile - 1) / kTile;
    const int edge = (kTile - 1) * shape.stride + shape.kernel;
    const std::size_t tile_bytes = sizeof(float) * edge * edge;
    const auto kernel =
        convlab::for_kernel_size(shape.kernel, [](auto size) { return conv_forward<size()>; });
    const dim3 block(kTile, kTile);
    convlab::for_each_constant_group<float>(shape, kMaps, [&](int first, int maps) {
      const int floats = (maps + kMaps - 1) / kMaps * kMaps * shape.taps();
      const int order_blocks = (floats + kOrderBlock - 1) / kOrderBlock;
      order_weights<<<order_blocks, kOrderBlock>>>(ordered_.data(), weights + first * shape.taps(),
                                                   maps, shape.taps());
      CONVLAB_CUDA_CHECK_LAUNCH(order_blocks, kOrderBlock, 0);
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(
          constant_weights, ordered_.data(), floats * sizeof(float), 0, cudaMemcpyDeviceToDevice));
      const dim3 grid(tiles_across * tiles_down, (maps + kMaps - 1) / kMaps,
                      std::min(shape.batch, kMaxGridZ));
      kernel<<<grid, block, tile_bytes>>>(output, input, shape, first, maps);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, block, tile_bytes);
    });
  }

  convlab::DeviceBuffer<float> ordered_;  // weights in the order of constant memory
};

const convlab::ConvolutionStage<TiledConstant> stage({
    .id = "tiled-constant",
    .title = "Input tile in shared, weights in constant memory",
    .baseline = "baseline",
    .order = 30,
});

}  // namespace
