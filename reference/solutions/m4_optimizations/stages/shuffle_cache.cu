// A cache in registers: lanes of a warp hand their inputs to each other.
//
// Idea     A warp that computes neighbouring columns of a row reads each input K times, once for
//          each lane that has it in its window. Let every lane load one input of the row and keep
//          it in a register; the K - 1 neighbours that need it ask for it with a warp shuffle,
//          without any memory.
// Picture  one row, K = 3: lane i holds input i, and computes output i
//
//              register    i0 i1 i2 i3 … i31
//              q = 0       i0 i1 i2 i3 … i31      its own
//              q = 1       i1 i2 i3 i4 …  -       __shfl_down_sync(…, 1)
//              q = 2       i2 i3 i4 i5 …  -       __shfl_down_sync(…, 2)
//
//          The last K - 1 lanes have no whole window: they only lend, and compute nothing.
// Cost     restrict-unroll loads K inputs of a row for each thread; here it is one load and K - 1
//          shuffles. A shuffle takes the same way as a load from shared memory, so the number of
//          such instructions stays. Of 32 lanes 26 compute at K = 7, and 34 outputs take two warps:
//          a third of the multiply-adds of the second convolution is wasted.
// Expect   slower than restrict-unroll. The idea pays where the loads it saves are dearer than
//          those of the first-level cache, or where the windows are long against their ends.
// Run      build/bin/m4 1000 --stage shuffle-cache --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace {

using convlab::ConvShape;

constexpr int kWarp = 32;
constexpr int kWarps = 4;  // of a block
constexpr int kMaxGridZ = 65535;
constexpr int kConstantFloats = 16384;
constexpr int kMaps = 4;
constexpr int kRows = 4;

__constant__ float constant_weights[kConstantFloats];  // (maps of the group, taps)

// KernelSize is the shape's; the stride is 1. A warp computes kMaps maps × kRows rows × kColumns.
template <int KernelSize>
__global__ void __launch_bounds__(kWarps* kWarp)
    conv_forward(float* __restrict__ output, const float* __restrict__ input, ConvShape shape,
                 int first_map, int maps) {
  constexpr int kColumns = kWarp - KernelSize + 1;
  constexpr unsigned kAll = 0xffffffffu;
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int segments = (shape.out_width() + kColumns - 1) / kColumns;
  const int lane = threadIdx.x % kWarp;
  const int work = blockIdx.x * kWarps + threadIdx.x / kWarp;
  if (work >= strips * segments) return;  // a whole warp, so nobody misses a shuffle
  const int first_h = work / segments * kRows;
  const int w = work % segments * kColumns + lane;
  const int group = blockIdx.y * kMaps;  // first map of this warp within constant memory

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    float sum[kMaps][kRows] = {};
    for (int c = 0; c < shape.in_channels; ++c) {
      const float* weight =
          constant_weights + (group * shape.in_channels + c) * KernelSize * KernelSize;
      const float* column = image + (c * shape.height + first_h) * shape.width + w;
#pragma unroll
      for (int y = 0; y < kRows + KernelSize - 1; ++y) {
        const bool inside = first_h + y < shape.height && w < shape.width;
        const float mine = inside ? column[y * shape.width] : 0.0f;
#pragma unroll
        for (int q = 0; q < KernelSize; ++q) {
          const float pixel = q == 0 ? mine : __shfl_down_sync(kAll, mine, q);
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            const int p = y - r;
            if (p < 0 || p >= KernelSize) continue;  // known at compile time
#pragma unroll
            for (int m = 0; m < kMaps; ++m) {
              sum[m][r] += pixel * weight[m * shape.taps() + p * KernelSize + q];
            }
          }
        }
      }
    }
    if (lane >= kColumns || w >= shape.out_width()) continue;
#pragma unroll
    for (int m = 0; m < kMaps; ++m) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (group + m < maps && first_h + r < shape.out_height()) {
          output[b * shape.output_image_size() +
                 ((first_map + group + m) * shape.out_height() + first_h + r) * shape.out_width() +
                 w] = sum[m][r];
        }
      }
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
      return nullptr;
  }
}

class ShuffleCache final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const Kernel kernel = kernel_for(shape.kernel);
    // A warp reads kMaps maps at a time, so a group is a multiple of them.
    const int maps_at_once = kConstantFloats / shape.taps() / kMaps * kMaps;
    if (kernel == nullptr || shape.stride != 1 || maps_at_once == 0) {
      return convlab::convolve_any_shape(output, input, weights, shape);
    }
    const int columns = kWarp - shape.kernel + 1;
    const int work =
        (shape.out_height() + kRows - 1) / kRows * ((shape.out_width() + columns - 1) / columns);
    for (int first = 0; first < shape.out_channels; first += maps_at_once) {
      const int maps = std::min(maps_at_once, shape.out_channels - first);
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                                 maps * shape.taps() * sizeof(float), 0,
                                                 cudaMemcpyDeviceToDevice));
      const dim3 grid((work + kWarps - 1) / kWarps, (maps + kMaps - 1) / kMaps,
                      std::min(shape.batch, kMaxGridZ));
      kernel<<<grid, kWarps * kWarp>>>(output, input, shape, first, maps);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, kWarps * kWarp, 0);
    }
  }
};

const convlab::ConvolutionStage<ShuffleCache> stage({
    .id = "shuffle-cache",
    .title = "Inputs kept in registers, handed on by shuffles",
    .baseline = "restrict-unroll",
    .order = 144,
});

}  // namespace
