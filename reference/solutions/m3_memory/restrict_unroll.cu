// Known sizes, unrolled loops, several outputs in the registers of a thread.
//
// Idea     Fewer loads for each multiply-add. A thread computes kMaps maps × kRows rows of one
//          column: an input that it has loaded serves all those maps and up to kRows rows, a weight
//          serves kRows rows. With the kernel size known to the compiler both loops over the window
//          unroll, the sums stay in registers, and the weights' addresses become constants that an
//          arithmetic instruction can read by itself. __restrict__ promises that the output
//          overlaps nothing, so that loads may move ahead of stores.
// Picture  one thread, K = 7, kRows = 4:
//
//              input column strip            outputs
//              7 wide, 7 + 4 - 1 high   →    4 rows of column w, for each of 4 maps
//
// Cost     for each channel (K + 3)·K input loads for 16·K·K multiply-adds: 11 per load at K = 7,
//          the baseline has one half.
// Expect   the first stage near the arithmetic limit.
// Run      build/bin/m3 1000 --stage restrict-unroll --solution reference

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>

#include "common/error/error.hpp"
#include "common/milestone/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 128;
constexpr int kMaxGridZ = 65535;
constexpr int kConstantFloats = 16384;
constexpr int kMaps = 4;
constexpr int kRows = 4;

__constant__ float constant_weights[kConstantFloats];  // (maps of the group, taps)

// Kernel and Stride are the shape's.
template <int Kernel, int Stride>
__global__ void conv_forward(float* __restrict__ output, const float* __restrict__ input,
                             ConvShape shape, int first_map, int maps) {
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int position = blockIdx.x * kBlockSize + threadIdx.x;
  if (position >= strips * shape.out_width()) return;
  const int first_h = position / shape.out_width() * kRows;
  const int w = position % shape.out_width();
  const int group = blockIdx.y * kMaps;  // first map of this thread within constant memory
  const int plane = shape.height * shape.width;
  constexpr int kInputRows = (kRows - 1) * Stride + Kernel;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const int top = first_h * Stride;
    const float* window = input + b * shape.input_image_size() + top * shape.width + w * Stride;
    float sum[kMaps][kRows] = {};
    for (int c = 0; c < shape.in_channels; ++c) {
      const float* weight = constant_weights + (group * shape.in_channels + c) * Kernel * Kernel;
#pragma unroll
      for (int y = 0; y < kInputRows; ++y) {
        // The last strip may hang over the image; what it would add there is never stored.
        const bool inside = top + y < shape.height;
#pragma unroll
        for (int q = 0; q < Kernel; ++q) {
          const float pixel = inside ? window[y * shape.width + q] : 0.0f;
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            const int p = y - r * Stride;
            if (p < 0 || p >= Kernel) continue;  // known at compile time
#pragma unroll
            for (int m = 0; m < kMaps; ++m) {
              sum[m][r] += pixel * weight[m * shape.taps() + p * Kernel + q];
            }
          }
        }
      }
      window += plane;
    }
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

// The instantiations; a shape outside this list has no unrolled kernel.
Kernel kernel_for(const ConvShape& shape) {
  const struct {
    int kernel;
    int stride;
    Kernel function;
  } known[] = {
      {1, 1, conv_forward<1, 1>}, {3, 1, conv_forward<3, 1>}, {3, 2, conv_forward<3, 2>},
      {3, 3, conv_forward<3, 3>}, {3, 4, conv_forward<3, 4>}, {5, 1, conv_forward<5, 1>},
      {5, 2, conv_forward<5, 2>}, {7, 1, conv_forward<7, 1>}, {7, 2, conv_forward<7, 2>},
  };
  for (const auto& entry : known) {
    if (entry.kernel == shape.kernel && entry.stride == shape.stride) return entry.function;
  }
  throw convlab::EnvironmentError(
      "Stage restrict-unroll is compiled for kernels 1, 3, 5 and 7 with small strides, not for " +
      to_string(shape) + "; add a line to kernel_for.");
}

class RestrictUnroll final : public convlab::DeviceConvolution {
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
    const Kernel kernel = kernel_for(shape);
    const int strips = (shape.out_height() + kRows - 1) / kRows;
    const int positions = strips * shape.out_width();
    for (int first = 0; first < shape.out_channels; first += maps_at_once) {
      const int maps = std::min(maps_at_once, shape.out_channels - first);
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                                 maps * shape.taps() * sizeof(float), 0,
                                                 cudaMemcpyDeviceToDevice));
      const dim3 grid((positions + kBlockSize - 1) / kBlockSize, (maps + kMaps - 1) / kMaps,
                      std::min(shape.batch, kMaxGridZ));
      kernel<<<grid, kBlockSize>>>(output, input, shape, first, maps);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
    }
  }
};

const convlab::StageRegistration registration({
    .id = "restrict-unroll",
    .title = "Unrolled, 4×4 outputs in registers",
    .baseline = "tiled-constant",
    .order = 40,
    .make = [] { return std::make_unique<RestrictUnroll>(); },
});

}  // namespace
