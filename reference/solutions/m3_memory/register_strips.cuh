#pragma once

// Strips of outputs in registers, weights in constant memory: the kernel of restrict-unroll. The
// stage half runs it with halves; shuffle-cache uses its parts and gets its inputs by shuffles.

#include <cuda_runtime.h>

#include <algorithm>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "reference/solutions/constant_groups.cuh"
#include "reference/solutions/kernel_size.hpp"

namespace convlab::register_strips {

constexpr int kBlockSize = 128;
constexpr int kMaxGridZ = 65535;
constexpr int kMaps = 4;  // of one thread
constexpr int kRows = 4;

// (maps of the group, taps), of any type
static __constant__ float constant_weights[kConstantBytes / sizeof(float)];

/// How floats are multiplied and added. Another number type needs the same members.
struct FloatArithmetic {
  using Number = float;
  static __device__ float number(float value) { return value; }
  static __device__ float to_float(float number) { return number; }
  static __device__ float multiply_add(float a, float b, float sum) { return sum + a * b; }
};

/// Adds the products of the input in row y and column q of a strip's window to the sums.
/// @param weight  of the first map and this channel; maps lie `taps` apart
template <class Arithmetic, int KernelSize, class Number>
__device__ void add_pixel(Number (&sum)[kMaps][kRows], Number pixel, const Number* weight, int taps,
                          int y, int q) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int p = y - r;
    if (p < 0 || p >= KernelSize) continue;  // known at compile time
#pragma unroll
    for (int m = 0; m < kMaps; ++m) {
      sum[m][r] = Arithmetic::multiply_add(pixel, weight[m * taps + p * KernelSize + q], sum[m][r]);
    }
  }
}

/// Stores the sums of a strip: rows from first_h on, column w of image b.
/// @param group      its first map within constant memory
/// @param first_map  the map with which constant memory begins
/// @param maps       how many are there
template <class Arithmetic, class Number>
__device__ void store_strip(float* output, const ConvShape& shape, int b, int first_map, int group,
                            int maps, int first_h, int w, const Number (&sum)[kMaps][kRows]) {
#pragma unroll
  for (int m = 0; m < kMaps; ++m) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (group + m < maps && first_h + r < shape.out_height()) {
        output[b * shape.output_image_size() +
               ((first_map + group + m) * shape.out_height() + first_h + r) * shape.out_width() +
               w] = Arithmetic::to_float(sum[m][r]);
      }
    }
  }
}

/// KernelSize is the shape's, with stride 1; or 0 for any kernel and stride: one output after the
/// other, nothing unrolled. first_map and maps as in store_strip.
template <class Arithmetic, int KernelSize>
static __global__ void conv_forward(float* __restrict__ output, const float* __restrict__ input,
                                    ConvShape shape, int first_map, int maps) {
  using Number = typename Arithmetic::Number;
  const Number* constants = reinterpret_cast<const Number*>(constant_weights);
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int position = blockIdx.x * kBlockSize + threadIdx.x;
  if (position >= strips * shape.out_width()) return;
  const int first_h = position / shape.out_width() * kRows;
  const int w = position % shape.out_width();

  if constexpr (KernelSize > 0) {
    const int group = blockIdx.y * kMaps;  // first map of this thread within constant memory
    const int plane = shape.height * shape.width;
    constexpr int kInputRows = kRows + KernelSize - 1;
    for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
      const float* window = input + b * shape.input_image_size() + first_h * shape.width + w;
      Number sum[kMaps][kRows];
      for (int i = 0; i < kMaps * kRows; ++i) sum[i / kRows][i % kRows] = Arithmetic::number(0.0f);
      for (int c = 0; c < shape.in_channels; ++c) {
        const Number* weight =
            constants + (group * shape.in_channels + c) * KernelSize * KernelSize;
#pragma unroll
        for (int y = 0; y < kInputRows; ++y) {
          // The last strip may reach below the image; its sums there are never stored.
          const bool inside = first_h + y < shape.height;
#pragma unroll
          for (int q = 0; q < KernelSize; ++q) {
            const Number pixel = Arithmetic::number(inside ? window[y * shape.width + q] : 0.0f);
            add_pixel<Arithmetic, KernelSize>(sum, pixel, weight, shape.taps(), y, q);
          }
        }
        window += plane;
      }
      store_strip<Arithmetic>(output, shape, b, first_map, group, maps, first_h, w, sum);
    }
  } else {
    const int last_h = min(first_h + kRows, shape.out_height());
    const int last_map = min((static_cast<int>(blockIdx.y) + 1) * kMaps, maps);
    for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
      const float* image = input + b * shape.input_image_size();
      for (int m = blockIdx.y * kMaps; m < last_map; ++m) {
        for (int h = first_h; h < last_h; ++h) {
          const Number* weight = constants + m * shape.taps();
          Number sum = Arithmetic::number(0.0f);
          for (int c = 0; c < shape.in_channels; ++c) {
            for (int p = 0; p < shape.kernel; ++p) {
              const float* row = image + (c * shape.height + h * shape.stride + p) * shape.width +
                                 w * shape.stride;
              for (int q = 0; q < shape.kernel; ++q) {
                sum = Arithmetic::multiply_add(Arithmetic::number(row[q]), *weight++, sum);
              }
            }
          }
          output[b * shape.output_image_size() +
                 ((first_map + m) * shape.out_height() + h) * shape.out_width() + w] =
              Arithmetic::to_float(sum);
        }
      }
    }
  }
}

/// Launches it for all maps. All pointers are to device memory.
/// @param weights  as Numbers
template <class Arithmetic>
void convolve(float* output, const float* input, const typename Arithmetic::Number* weights,
              const ConvShape& shape) {
  using Number = typename Arithmetic::Number;
  const auto kernel = for_kernel_size(shape.stride == 1 ? shape.kernel : 0,
                                      [](auto size) { return conv_forward<Arithmetic, size()>; });
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int positions = strips * shape.out_width();
  for_each_constant_group<Number>(shape, kMaps, [&](int first, int maps) {
    CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                               maps * shape.taps() * sizeof(Number), 0,
                                               cudaMemcpyDeviceToDevice));
    const dim3 grid((positions + kBlockSize - 1) / kBlockSize, (maps + kMaps - 1) / kMaps,
                    std::min(shape.batch, kMaxGridZ));
    kernel<<<grid, kBlockSize>>>(output, input, shape, first, maps);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
  });
}

}  // namespace convlab::register_strips
