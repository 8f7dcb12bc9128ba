// Arithmetic in half precision, one number at a time.
//
// Idea     A half has 16 bits. Convert inputs and weights once where they are loaded, and let
//          products and sums be halves, too: __hfma instead of a multiply-add of floats. All else
//          is restrict-unroll: 4 maps × 4 rows in the registers of a thread.
// Picture  sign 1 bit, exponent 5 bits, fraction 10 bits: 11 significant bits, numbers from 6e-8
//          to 65504. A sum of 2048 and 1 is 2048.
// Cost     a multiply-add of halves takes the same place in the same pipeline as one of floats.
//          What is saved: half of the bits of the weights, and registers where two halves share
//          one. What is added: a conversion for each input load.
// Expect   no gain worth the lost bits: it is the step to half2, which does two at a time.
//          Products and sums are rounded to 11 bits: precision class fp16-sums.
// Run      build/bin/m4 1000 --stage half --solution reference

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "common/error/error.hpp"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 128;
constexpr int kMaxGridZ = 65535;
constexpr int kConstantHalves = 32768;
constexpr int kMaps = 4;
constexpr int kRows = 4;

__constant__ half constant_weights[kConstantHalves];  // (maps of the group, taps)

__global__ void round_weights(half* halves, const float* weights, int count) {
  const int i = blockIdx.x * kBlockSize + threadIdx.x;
  if (i < count) halves[i] = __float2half(weights[i]);
}

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
    half sum[kMaps][kRows];
    for (int i = 0; i < kMaps * kRows; ++i) sum[i / kRows][i % kRows] = __float2half(0.0f);
    for (int c = 0; c < shape.in_channels; ++c) {
      const half* weight =
          constant_weights + (group * shape.in_channels + c) * KernelSize * KernelSize;
#pragma unroll
      for (int y = 0; y < kInputRows; ++y) {
        // The last strip may hang over the image; what it would add there is never stored.
        const bool inside = first_h + y < shape.height;
#pragma unroll
        for (int q = 0; q < KernelSize; ++q) {
          const half pixel = __float2half(inside ? window[y * shape.width + q] : 0.0f);
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            const int p = y - r;
            if (p < 0 || p >= KernelSize) continue;  // known at compile time
#pragma unroll
            for (int m = 0; m < kMaps; ++m) {
              sum[m][r] = __hfma(pixel, weight[m * shape.taps() + p * KernelSize + q], sum[m][r]);
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
                 w] = __half2float(sum[m][r]);
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
        const half* weight = constant_weights + m * shape.taps();
        half sum = __float2half(0.0f);
        for (int c = 0; c < shape.in_channels; ++c) {
          for (int p = 0; p < shape.kernel; ++p) {
            const float* row =
                image + (c * shape.height + h * shape.stride + p) * shape.width + w * shape.stride;
            for (int q = 0; q < shape.kernel; ++q) {
              sum = __hfma(__float2half(row[q]), *weight++, sum);
            }
          }
        }
        output[b * shape.output_image_size() +
               ((first_map + m) * shape.out_height() + h) * shape.out_width() + w] =
            __half2float(sum);
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

class Half final : public convlab::DeviceConvolution {
  void prepare() override { halves_ = convlab::DeviceBuffer<half>(shape().weights_size()); }

  void release() override { halves_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // A thread reads kMaps maps at a time, so a group is a multiple of them.
    const int maps_at_once = kConstantHalves / shape.taps() / kMaps * kMaps;
    if (maps_at_once == 0) {
      throw convlab::EnvironmentError("The weights of " + std::to_string(kMaps) + " maps (" +
                                      std::to_string(kMaps * shape.taps()) +
                                      " halves) do not fit into 64 KiB of constant memory; take "
                                      "another stage for this shape.");
    }
    const int count = static_cast<int>(shape.weights_size());
    const dim3 round_grid((count + kBlockSize - 1) / kBlockSize);
    round_weights<<<round_grid, kBlockSize>>>(halves_.data(), weights, count);
    CONVLAB_CUDA_CHECK_LAUNCH(round_grid, kBlockSize, 0);

    const Kernel kernel = kernel_for(shape);
    const int strips = (shape.out_height() + kRows - 1) / kRows;
    const int positions = strips * shape.out_width();
    for (int first = 0; first < shape.out_channels; first += maps_at_once) {
      const int maps = std::min(maps_at_once, shape.out_channels - first);
      CONVLAB_CUDA_CHECK(
          cudaMemcpyToSymbolAsync(constant_weights, halves_.data() + first * shape.taps(),
                                  maps * shape.taps() * sizeof(half), 0, cudaMemcpyDeviceToDevice));
      const dim3 grid((positions + kBlockSize - 1) / kBlockSize, (maps + kMaps - 1) / kMaps,
                      std::min(shape.batch, kMaxGridZ));
      kernel<<<grid, kBlockSize>>>(output, input, shape, first, maps);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
    }
  }

  convlab::DeviceBuffer<half> halves_;
};

const convlab::ConvolutionStage<Half> stage({
    .id = "half",
    .title = "Arithmetic in half precision",
    .baseline = "restrict-unroll",
    .order = 132,
    .precision = convlab::Precision::kFp16Sums,
    .needs = {7, 0},
});

}  // namespace
