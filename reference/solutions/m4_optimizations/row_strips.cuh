#pragma once

// A direct convolution for stride 1 and any image, for stages whose subject is not the kernel.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "reference/solutions/kernel_size.hpp"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace convlab {

namespace row_strips {

constexpr int kThreads = 128;
constexpr int kMaps = 4;
constexpr int kRows = 6;
constexpr int kMostTaps = 2048;  // the weights of 4 maps then take 32 KiB of shared memory

/// A thread computes kMaps maps × kRows rows of one column; a loaded input serves up to KernelSize
/// rows and 4 maps. grid.x covers the strips' columns of all images, grid.y the maps.
template <int KernelSize>
static __global__ void __launch_bounds__(kThreads)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape) {
  extern __shared__ float4 weight_tile[];  // (channels, q, p), 4 maps each
  const int first_map = blockIdx.y * kMaps;
  for (int i = threadIdx.x; i < shape.taps(); i += kThreads) {
    const int p = i % KernelSize;
    const int q = i / KernelSize % KernelSize;
    const int c = i / (KernelSize * KernelSize);
    float four[kMaps];
    for (int m = 0; m < kMaps; ++m) {
      const int map = min(first_map + m, shape.out_channels - 1);  // a map too many is not stored
      four[m] = weights[map * shape.taps() + (c * KernelSize + p) * KernelSize + q];
    }
    weight_tile[i] = make_float4(four[0], four[1], four[2], four[3]);
  }
  __syncthreads();

  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const std::int64_t positions = std::int64_t{shape.batch} * strips * shape.out_width();
  const std::int64_t position = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (position >= positions) return;
  const std::int64_t image = position / (strips * shape.out_width());
  const int place = static_cast<int>(position - image * strips * shape.out_width());
  const int h = place / shape.out_width() * kRows;
  const int w = place % shape.out_width();
  const float4* weight = weight_tile;
  float sum[kMaps][kRows] = {};
  for (int c = 0; c < shape.in_channels; ++c) {
    const float* window =
        input + image * shape.input_image_size() + (c * shape.height + h) * shape.width + w;
    for (int q = 0; q < KernelSize; ++q) {
      float pixel[kRows + KernelSize - 1];
#pragma unroll
      for (int y = 0; y < kRows + KernelSize - 1; ++y) {
        // The last strip may reach below the image; its sums there are never stored.
        pixel[y] = h + y < shape.height ? window[y * shape.width + q] : 0.0f;
      }
#pragma unroll
      for (int p = 0; p < KernelSize; ++p) {
        const float4 four = *weight++;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          sum[0][r] += pixel[p + r] * four.x;
          sum[1][r] += pixel[p + r] * four.y;
          sum[2][r] += pixel[p + r] * four.z;
          sum[3][r] += pixel[p + r] * four.w;
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kMaps; ++m) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (first_map + m < shape.out_channels && h + r < shape.out_height()) {
        output[image * shape.output_image_size() +
               ((first_map + m) * shape.out_height() + h + r) * shape.out_width() + w] = sum[m][r];
      }
    }
  }
}

template <int KernelSize>
void launch(float* output, const float* input, const float* weights, const ConvShape& shape,
            cudaStream_t stream) {
  const std::int64_t positions =
      std::int64_t{shape.batch} * ((shape.out_height() + kRows - 1) / kRows) * shape.out_width();
  const dim3 grid(static_cast<unsigned>((positions + kThreads - 1) / kThreads),
                  (shape.out_channels + kMaps - 1) / kMaps);
  const std::size_t bytes = sizeof(float4) * shape.taps();
  conv_forward<KernelSize><<<grid, kThreads, bytes, stream>>>(output, input, weights, shape);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, bytes);
}

}  // namespace row_strips

/// Launches the convolution on `stream`: strips of 6 rows if the stride is 1 and the kernel size 3,
/// 5 or 7, otherwise one thread for each output. All pointers are to device memory.
inline void convolve_row_strips(float* output, const float* input, const float* weights,
                                const ConvShape& shape, cudaStream_t stream = nullptr) {
  const bool fits = shape.stride == 1 && shape.taps() <= row_strips::kMostTaps;
  const auto launch = for_kernel_size(fits ? shape.kernel : 0, [](auto size) {
    if constexpr (size() == 0) return convolve_any_shape;
    if constexpr (size() > 0) return row_strips::launch<size()>;
  });
  launch(output, input, weights, shape, stream);
}

}  // namespace convlab
