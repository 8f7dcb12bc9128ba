#pragma once

// A block convolves an image in its shared memory: the code that persistent and double-buffered
// share.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/kernel_size.hpp"
#include "reference/solutions/m4_optimizations/any_shape.cuh"
#include "reference/solutions/m4_optimizations/device_room.cuh"

namespace convlab::image_in_shared {

constexpr int kMostThreads = 256;  // of a block
constexpr int kMaps = 4;           // of one thread

/// Floats of the weights in shared memory: 4 maps lie side by side, the last group is padded with
/// zeros.
__host__ __device__ constexpr std::int64_t weight_floats(const ConvShape& shape) {
  return std::int64_t{(shape.out_channels + kMaps - 1) / kMaps} * kMaps * shape.taps();
}

/// Floats of one image. The last strip reads up to rows - 1 rows beyond it and does not use them.
/// The size is rounded up, so that the next array is aligned to 16 bytes.
__host__ __device__ constexpr std::int64_t image_floats(const ConvShape& shape, int rows) {
  const std::int64_t floats = shape.input_image_size() + std::int64_t{rows - 1} * shape.width;
  return (floats + 3) / 4 * 4;
}

/// Copies the weights into shared memory, in the order in which they are used:
/// (groups of 4 maps, channels, q, p, 4 maps). No barrier.
__device__ inline void load_weights(float* tile, const float* weights, const ConvShape& shape) {
  for (int i = threadIdx.x; i < weight_floats(shape); i += blockDim.x) {
    const int map = i / (shape.taps() * kMaps) * kMaps + i % kMaps;
    const int tap = i / kMaps % shape.taps();  // (channels, q, p)
    const int p = tap % shape.kernel;
    const int q = tap / shape.kernel % shape.kernel;
    const int c = tap / (shape.kernel * shape.kernel);
    tile[i] = map < shape.out_channels
                  ? weights[map * shape.taps() + (c * shape.kernel + p) * shape.kernel + q]
                  : 0.0f;
  }
}

/// All outputs of one image; stride 1. A thread computes 4 maps × Rows rows of one column.
/// @param output  of this image
/// @param image   in shared memory: in_channels × height × width, then Rows - 1 rows with any
///                values
/// @param tile    in shared memory: the result of load_weights
template <int KernelSize, int Rows>
__device__ void convolve(float* output, const float* image, const float* tile,
                         const ConvShape& shape) {
  const int out_height = shape.out_height();
  const int out_width = shape.out_width();
  const int positions = (out_height + Rows - 1) / Rows * out_width;
  const int groups = (shape.out_channels + kMaps - 1) / kMaps;
  for (int item = threadIdx.x; item < positions * groups; item += blockDim.x) {
    const int group = item / positions;
    const int h = item % positions / out_width * Rows;
    const int w = item % positions % out_width;
    const float4* weight = reinterpret_cast<const float4*>(tile) + group * shape.taps();
    const float* window = image + h * shape.width + w;
    float sum[kMaps][Rows] = {};
#pragma unroll 1
    for (int c = 0; c < shape.in_channels; ++c) {
#pragma unroll 1
      for (int q = 0; q < KernelSize; ++q) {
        float pixel[Rows + KernelSize - 1];
#pragma unroll
        for (int y = 0; y < Rows + KernelSize - 1; ++y) pixel[y] = window[y * shape.width + q];
#pragma unroll
        for (int p = 0; p < KernelSize; ++p) {
          const float4 four = *weight++;
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            sum[0][r] += pixel[p + r] * four.x;
            sum[1][r] += pixel[p + r] * four.y;
            sum[2][r] += pixel[p + r] * four.z;
            sum[3][r] += pixel[p + r] * four.w;
          }
        }
      }
      window += shape.height * shape.width;
    }
#pragma unroll
    for (int m = 0; m < kMaps; ++m) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (group * kMaps + m < shape.out_channels && h + r < out_height) {
          output[((group * kMaps + m) * out_height + h + r) * out_width + w] = sum[m][r];
        }
      }
    }
  }
}

/// The block size with the fewest idle threads in its last round over an image: 160 for the 800
/// columns of strips of the first convolution, where blocks of 256 threads would waste a fifth.
inline int best_block(const ConvShape& shape, int rows) {
  constexpr int kWarp = 32;
  const int work = (shape.out_height() + rows - 1) / rows * shape.out_width() *
                   ((shape.out_channels + kMaps - 1) / kMaps);
  int best = kMostThreads;
  for (int threads = kMostThreads; threads >= 4 * kWarp; threads -= kWarp) {
    const auto spent = [&](int block) { return (work + block - 1) / block * block; };
    if (spent(threads) < spent(best)) best = threads;
  }
  return best;
}

/// A stage that starts as many blocks as fit on the device; each processes image after image.
class ImageAfterImage : public DeviceConvolution {
 protected:
  using Kernel = void (*)(float*, const float*, const float*, ConvShape);

  /// Asks CUDA for the numbers that the launch needs. Called in prepare: it takes longer than the
  /// convolution of some images.
  /// @param images   that a block holds in shared memory at the same time
  /// @param kernel_for  kernel_for(kernel size, rows of a thread), both constants
  template <class KernelFor>
  void plan(int images, KernelFor kernel_for) {
    blocks_ = 0;
    // 80 rows are 10 strips of 8; 34 rows are 5 strips of 7, with one row too many.
    const int rows = shape().out_height() % 8 == 0 ? 8 : 7;
    kernel_ = for_kernel_size(shape().stride == 1 ? shape().kernel : 0, [&](auto size) -> Kernel {
      if constexpr (size() > 0) {
        return rows == 8 ? kernel_for(size, std::integral_constant<int, 8>{})
                         : kernel_for(size, std::integral_constant<int, 7>{});
      }
      return nullptr;
    });
    if (kernel_ == nullptr) return;
    const std::int64_t bytes =
        sizeof(float) * (images * image_floats(shape(), rows) + weight_floats(shape()));
    if (bytes > DeviceRoom::of_current().block_bytes) return;
    bytes_ = static_cast<int>(bytes);
    threads_ = best_block(shape(), rows);
    allow_shared_bytes(kernel_, bytes_);
    blocks_ = std::min(resident_blocks(kernel_, threads_, bytes_), shape().batch);
  }

 private:
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (blocks_ == 0) return convolve_any_shape(output, input, weights, shape);
    kernel_<<<blocks_, threads_, bytes_>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks_, threads_, bytes_);
  }

  Kernel kernel_ = nullptr;
  int bytes_ = 0;  // of dynamic shared memory
  int threads_ = 0;
  int blocks_ = 0;  // 0: no kernel for this shape
};

}  // namespace convlab::image_in_shared
