// A cache in registers: the lanes of a warp exchange their inputs.
//
// Idea     A warp that computes neighbouring columns of a row reads each input K times, once for
//          each lane that has it in its window. Let every lane load one input of the row and keep
//          it in a register; the K - 1 neighbours that need it get it by a warp shuffle, without a
//          load.
// Picture  one row, K = 3: lane i holds input i, and computes output i
//
//              register    i0 i1 i2 i3 … i31
//              q = 0       i0 i1 i2 i3 … i31      its own
//              q = 1       i1 i2 i3 i4 …  -       __shfl_down_sync(…, 1)
//              q = 2       i2 i3 i4 i5 …  -       __shfl_down_sync(…, 2)
//
//          The last K - 1 lanes have no complete window: they provide inputs and compute nothing.
// Cost     restrict-unroll loads K inputs of a row for each thread; here it is one load and K - 1
//          shuffles. A shuffle uses the same pipeline as a load from shared memory, so this
//          pipeline gets as many instructions as before. Of 32 lanes 26 compute at K = 7, and 34
//          outputs take two warps: a third of the multiply-adds of the second convolution is
//          wasted.
// Expect   slower than restrict-unroll. The idea pays if the saved loads take longer than those
//          from the first-level cache, or if few lanes are lost at the ends.
// Run      build/bin/m4 1000 --stage shuffle-cache --solution reference

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m3_memory/register_strips.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace {

namespace register_strips = convlab::register_strips;
using convlab::ConvShape;
using register_strips::constant_weights;
using register_strips::FloatArithmetic;
using register_strips::kMaps;
using register_strips::kRows;

constexpr int kWarp = 32;
constexpr int kWarps = 4;  // of a block

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
  if (work >= strips * segments) return;  // a whole warp, so that no shuffle misses a lane
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
          register_strips::add_pixel<FloatArithmetic, KernelSize>(sum, pixel, weight, shape.taps(),
                                                                  y, q);
        }
      }
    }
    if (lane >= kColumns || w >= shape.out_width()) continue;
    register_strips::store_strip<FloatArithmetic>(output, shape, b, first_map, group, maps, first_h,
                                                  w, sum);
  }
}

class ShuffleCache final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    using Kernel = void (*)(float*, const float*, ConvShape, int, int);
    const Kernel kernel = convlab::for_kernel_size(shape.kernel, [](auto size) -> Kernel {
      if constexpr (size() == 0) return nullptr;
      if constexpr (size() > 0) return conv_forward<size()>;
    });
    if (kernel == nullptr || shape.stride != 1 ||
        convlab::maps_in_constant_memory<float>(shape, kMaps) == 0) {
      return convlab::convolve_any_shape(output, input, weights, shape);
    }
    const int columns = kWarp - shape.kernel + 1;
    const int work =
        (shape.out_height() + kRows - 1) / kRows * ((shape.out_width() + columns - 1) / columns);
    convlab::for_each_constant_group<float>(shape, kMaps, [&](int first, int maps) {
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                                 maps * shape.taps() * sizeof(float), 0,
                                                 cudaMemcpyDeviceToDevice));
      const dim3 grid((work + kWarps - 1) / kWarps, (maps + kMaps - 1) / kMaps,
                      std::min(shape.batch, register_strips::kMaxGridZ));
      kernel<<<grid, kWarps * kWarp>>>(output, input, shape, first, maps);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, kWarps * kWarp, 0);
    });
  }
};

const convlab::LadderStage<ShuffleCache> stage("shuffle-cache",
                                               "Inputs kept in registers, handed on by shuffles");

}  // namespace
