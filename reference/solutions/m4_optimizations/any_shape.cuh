#pragma once

// The kernel that a stage of this ladder launches for the shapes that its own kernel does not
// serve.

#include <cuda_runtime.h>

#include <algorithm>

#include "common/device/cuda_check.cuh"
#include "common/tensor/conv_shape.hpp"

namespace convlab {

/// One thread, one output, for every kernel size and stride: milestone 2's kernel.
/// All pointers are to device memory, laid out as ConvShape says.
static __global__ void conv_forward_any_shape(float* output, const float* input,
                                              const float* weights, ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const int m = blockIdx.y;
  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* window =
        input + b * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;
    const float* weight = weights + m * shape.taps();
    float sum = 0.0f;
    for (int c = 0; c < shape.in_channels; ++c) {
      for (int p = 0; p < shape.kernel; ++p) {
        const float* row = window + (c * shape.height + p) * shape.width;
        for (int q = 0; q < shape.kernel; ++q) sum += row[q] * *weight++;
      }
    }
    output[b * shape.output_image_size() + m * pixels + pixel] = sum;
  }
}

/// Launches it on the default stream or on the given one.
inline void convolve_any_shape(float* output, const float* input, const float* weights,
                               const ConvShape& shape, cudaStream_t stream = nullptr) {
  constexpr int kBlockSize = 256;
  constexpr int kMaxGridZ = 65535;
  const int pixels = shape.out_height() * shape.out_width();
  const dim3 grid((pixels + kBlockSize - 1) / kBlockSize, shape.out_channels,
                  std::min(shape.batch, kMaxGridZ));
  conv_forward_any_shape<<<grid, kBlockSize, 0, stream>>>(output, input, weights, shape);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
}

}  // namespace convlab
