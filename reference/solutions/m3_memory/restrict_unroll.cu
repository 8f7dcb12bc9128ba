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

#include "common/error/error.hpp"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 128;
constexpr int kMaxGridZ = 65535;
constexpr int kConstantFloats = 16384;
constexpr int kMaps = 4;
constexpr int kRows = 4;

__constant__ float constant_weights[kConstantFloats];  // (maps of the group, taps)

// KernelSize is the shape's; the stride is 1.
template <int KernelSize>
__global__ void conv_forward(float* __restrict__ output, const float* __restrict__ input,
                             ConvShape shape, int first_map, int maps) {
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int position = blockIdx.x * kBlockSize + threadIdx.x;
  if (position >= strips * shape.out_width()) return;
  const int first_h = position / shape.out_width() * kRows;
  const int w = position % shape.out_width();
  const int group = blockIdx.y * kMaps;  // first map of this thread within constant memory
  const int plane = shape.height * shape.width;
  constexpr int kInputRows = kRows + KernelSize - 1;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* window = input + b * shape.input_image_size() + first_h * shape.width + w;
    float sum[kMaps][kRows] = {};
    for (int c = 0; c < shape.in_channels; ++c) {
      const float* weight =
          constant_weights + (group * shape.in_channels + c) * KernelSize * KernelSize;
#pragma unroll
      for (int y = 0; y < kInputRows; ++y) {
        // The last strip may hang over the image; what it would add there is never stored.
        const bool inside = first_h + y < shape.height;
#pragma unroll
        for (int q = 0; q < KernelSize; ++q) {
          const float pixel = inside ? window[y * shape.width + q] : 0.0f;
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

// Any kernel and stride: one output, nothing unrolled.
__global__ void conv_forward_any(float* __restrict__ output, const float* __restrict__ input,
                                 ConvShape shape, int first_map, int maps) {
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int position = blockIdx.x * kBlockSize + threadIdx.x;
  if (position >= strips * shape.out_width()) return;
  const int first_h = position / shape.out_width() * kRows;
  const int w = position % shape.out_width();
  const int last_h = min(first_h + kRows, shape.out_height());
  const int last_map = min((static_cast<int>(blockIdx.y) + 1) * kMaps, maps);

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    for (int m = blockIdx.y * kMaps; m < last_map; ++m) {
      for (int h = first_h; h < last_h; ++h) {
        const float* weight = constant_weights + m * shape.taps();
        float sum = 0.0f;
        for (int c = 0; c < shape.in_channels; ++c) {
          for (int p = 0; p < shape.kernel; ++p) {
            const float* row =
                image + (c * shape.height + h * shape.stride + p) * shape.width + w * shape.stride;
            for (int q = 0; q < shape.kernel; ++q) sum += row[q] * *weight++;
          }
        }
        output[b * shape.output_image_size() +
               ((first_map + m) * shape.out_height() + h) * shape.out_width() + w] = sum;
      }
    }
  }
}

using Kernel = void (*)(float*, const float*, ConvShape, int, int);

// The networks of the course have kernels 5 and 7 and stride 1; other shapes are right, not fast.
Kernel kernel_for(const ConvShape& shape) {
  if (shape.stride != 1) return conv_forward_any;
  switch (shape.kernel) {
    case 3:
      return conv_forward<3>;
    case 5:
      return conv_forward<5>;
    case 7:
      return conv_forward<7>;
    default:
      return conv_forward_any;
  }
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

const convlab::ConvolutionStage<RestrictUnroll> stage({
    .id = "restrict-unroll",
    .title = "Unrolled, 4×4 outputs in registers",
    .baseline = "tiled-constant",
    .order = 40,
});

}  // namespace
