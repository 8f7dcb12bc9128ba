#pragma once

// One thread computes Maps × Pixels outputs: the kernel of thread-coarsening and of sweep-tuned.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"

namespace convlab::coarsened {

/// Each thread computes Maps neighbouring maps of Pixels pixels, which lie blockDim.x apart so that
/// a warp loads and stores neighbours. grid: pixels, maps, images.
template <int Maps, int Pixels>
static __global__ void conv_forward(float* __restrict__ output, const float* __restrict__ input,
                                    const float* __restrict__ weights, ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const int first_pixel = blockIdx.x * blockDim.x * Pixels + threadIdx.x;
  const int first_map = blockIdx.y * Maps;
  const int taps = shape.taps();

  int offset[Pixels];  // of the window's corner within its channel
#pragma unroll
  for (int n = 0; n < Pixels; ++n) {
    // A pixel or map beyond the last one is computed like the last one and not stored.
    const int pixel = min(first_pixel + n * static_cast<int>(blockDim.x), pixels - 1);
    offset[n] =
        (pixel / shape.out_width() * shape.width + pixel % shape.out_width()) * shape.stride;
  }
  const float* weight_of_map[Maps];
#pragma unroll
  for (int m = 0; m < Maps; ++m) {
    weight_of_map[m] = weights + min(first_map + m, shape.out_channels - 1) * taps;
  }

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    float sum[Maps][Pixels] = {};
    int tap = 0;
    for (int c = 0; c < shape.in_channels; ++c) {
      for (int p = 0; p < shape.kernel; ++p) {
        const float* row = image + (c * shape.height + p) * shape.width;
        for (int q = 0; q < shape.kernel; ++q, ++tap) {
          float pixel[Pixels];
#pragma unroll
          for (int n = 0; n < Pixels; ++n) pixel[n] = row[offset[n] + q];
#pragma unroll
          for (int m = 0; m < Maps; ++m) {
            const float weight = weight_of_map[m][tap];
#pragma unroll
            for (int n = 0; n < Pixels; ++n) sum[m][n] += pixel[n] * weight;
          }
        }
      }
    }
    float* to = output + b * shape.output_image_size();
#pragma unroll
    for (int m = 0; m < Maps; ++m) {
#pragma unroll
      for (int n = 0; n < Pixels; ++n) {
        const int pixel = first_pixel + n * static_cast<int>(blockDim.x);
        if (first_map + m < shape.out_channels && pixel < pixels) {
          to[(first_map + m) * pixels + pixel] = sum[m][n];
        }
      }
    }
  }
}

/// Launches it with blocks of `block` threads. All pointers are to device memory.
template <int Maps, int Pixels>
void convolve(float* output, const float* input, const float* weights, const ConvShape& shape,
              int block) {
  constexpr int kMaxGridZ = 65535;
  const int pixels = shape.out_height() * shape.out_width();
  const int block_pixels = block * Pixels;
  const dim3 grid((pixels + block_pixels - 1) / block_pixels,
                  (shape.out_channels + Maps - 1) / Maps, std::min(shape.batch, kMaxGridZ));
  conv_forward<Maps, Pixels><<<grid, block>>>(output, input, weights, shape);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
}

}  // namespace convlab::coarsened
