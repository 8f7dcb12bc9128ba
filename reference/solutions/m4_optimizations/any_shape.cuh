#pragma once

// The convolution for any shape. A stage launches it if its own kernel does not fit the shape.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"

namespace convlab {

namespace any_shape {

constexpr int kBlockSize = 256;
constexpr std::int64_t kMaxBlocks = 1 << 20;  // with more elements a thread computes several

/// One thread computes one output element after the other, in single precision.
static __global__ void __launch_bounds__(kBlockSize)
    convolve(float* __restrict__ output, const float* __restrict__ input,
             const float* __restrict__ weights, ConvShape shape) {
  const int out_height = shape.out_height();
  const int out_width = shape.out_width();
  const int kernel = shape.kernel;
  const std::int64_t size = shape.output_size();
  const std::int64_t step = std::int64_t{gridDim.x} * kBlockSize;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < size; i += step) {
    const int w = static_cast<int>(i % out_width);
    const int h = static_cast<int>(i / out_width % out_height);
    const std::int64_t map_of_image = i / out_width / out_height;
    const int m = static_cast<int>(map_of_image % shape.out_channels);
    const std::int64_t image = map_of_image / shape.out_channels;
    const float* weight = weights + std::int64_t{m} * shape.taps();
    const float* corner = input + image * shape.input_image_size() +
                          std::int64_t{h} * shape.stride * shape.width + w * shape.stride;
    float sum = 0.0f;
    for (int c = 0; c < shape.in_channels; ++c) {
      float of_channel = 0.0f;  // short sums lose less accuracy than one long sum
      const float* row = corner + std::int64_t{c} * shape.height * shape.width;
      for (int p = 0; p < kernel; ++p, row += shape.width) {
        for (int q = 0; q < kernel; ++q) of_channel += row[q] * *weight++;
      }
      sum += of_channel;
    }
    output[i] = sum;
  }
}

}  // namespace any_shape

/// output = input ∗ weights on the device, for every valid shape; on the default stream or on the
/// given one.
inline void convolve_any_shape(float* output, const float* input, const float* weights,
                               const ConvShape& shape, cudaStream_t stream = nullptr) {
  const std::int64_t blocks =
      (shape.output_size() + any_shape::kBlockSize - 1) / any_shape::kBlockSize;
  const dim3 grid(
      static_cast<unsigned>(blocks < any_shape::kMaxBlocks ? blocks : any_shape::kMaxBlocks));
  any_shape::convolve<<<grid, any_shape::kBlockSize, 0, stream>>>(output, input, weights, shape);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, any_shape::kBlockSize, 0);
}

}  // namespace convlab
