#pragma once

// One kernel for each convolution of the network fa23. They are the subject of the stage per-layer;
// cuda-graph and multi-gpu launch them, too.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "reference/solutions/m4_optimizations/row_strips.cuh"

namespace convlab::per_layer {

constexpr int kThreads = 128;
constexpr int kMaps = 4;  // of one thread

// The sizes of one convolution; its stride is 1.
template <int InChannels, int OutChannels, int Height, int Width, int Kernel, int Rows>
struct Layer {
  static constexpr int kInChannels = InChannels;
  static constexpr int kOutChannels = OutChannels;
  static constexpr int kHeight = Height;
  static constexpr int kWidth = Width;
  static constexpr int kKernel = Kernel;
  static constexpr int kRows = Rows;
  static constexpr int kOutHeight = Height - Kernel + 1;
  static constexpr int kOutWidth = Width - Kernel + 1;
  static constexpr int kTaps = InChannels * Kernel * Kernel;
  static constexpr int kStrips = kOutHeight / Rows;
  static constexpr int kPositions = kStrips * kOutWidth;  // threads for an image and 4 maps
  static constexpr int kGroups = OutChannels / kMaps;
  static_assert(kStrips * Rows == kOutHeight, "no strip hangs over");
  static_assert(kGroups * kMaps == OutChannels, "no map is left over");

  static bool serves(const ConvShape& shape) {
    return shape.in_channels == InChannels && shape.out_channels == OutChannels &&
           shape.height == Height && shape.width == Width && shape.kernel == Kernel &&
           shape.stride == 1;
  }
};

using First = Layer<1, 4, 86, 86, 7, 8>;
using Second = Layer<4, 16, 40, 40, 7, 17>;

static __constant__ float constant_weights[First::kOutChannels * First::kTaps];  // (maps, taps)

// The place of a thread: position counts the columns of the strips of all images.
template <class L>
struct Place {
  __device__ explicit Place(std::int64_t position)
      : image(position / L::kPositions),
        h(static_cast<int>(position % L::kPositions) / L::kOutWidth * L::kRows),
        w(static_cast<int>(position % L::kPositions) % L::kOutWidth) {}

  __device__ const float* window(const float* input) const {
    return input + image * (L::kInChannels * L::kHeight * L::kWidth) + h * L::kWidth + w;
  }

  // Every warp stores neighbouring columns of one map and row.
  __device__ void store(float* output, int first_map, const float (&sum)[kMaps][L::kRows]) const {
    float* to = output + (image * L::kOutChannels + first_map) * (L::kOutHeight * L::kOutWidth) +
                h * L::kOutWidth + w;
#pragma unroll
    for (int m = 0; m < kMaps; ++m) {
#pragma unroll
      for (int r = 0; r < L::kRows; ++r) {
        to[(m * L::kOutHeight + r) * L::kOutWidth] = sum[m][r];
      }
    }
  }

  std::int64_t image;
  int h;
  int w;
};

// One channel: every loop is unrolled, so that each weight has a constant address and a
// multiply-add reads it without a load.
static __global__ void __launch_bounds__(kThreads, 5)
    conv_first(float* __restrict__ output, const float* __restrict__ input,
               std::int64_t positions) {
  using L = First;
  const std::int64_t position = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (position >= positions) return;
  const Place<L> place(position);
  const float* window = place.window(input);
  float sum[kMaps][L::kRows] = {};
#pragma unroll
  for (int q = 0; q < L::kKernel; ++q) {
    float pixel[L::kRows + L::kKernel - 1];
#pragma unroll
    for (int y = 0; y < L::kRows + L::kKernel - 1; ++y) pixel[y] = window[y * L::kWidth + q];
#pragma unroll
    for (int p = 0; p < L::kKernel; ++p) {
#pragma unroll
      for (int m = 0; m < kMaps; ++m) {
        const float weight = constant_weights[m * L::kTaps + p * L::kKernel + q];
#pragma unroll
        for (int r = 0; r < L::kRows; ++r) sum[m][r] += pixel[p + r] * weight;
      }
    }
  }
  place.store(output, 0, sum);
}

// Four channels and 16 maps are too much to unroll. A block computes 4 maps; their weights lie in
// shared memory in the order of their use. The four blocks of the same images are neighbours, so
// that the second-level cache serves three of them.
static __global__ void __launch_bounds__(kThreads, 4)
    conv_second(float* __restrict__ output, const float* __restrict__ input,
                const float* __restrict__ weights, std::int64_t positions) {
  using L = Second;
  __shared__ float4 weight_tile[L::kTaps];  // (channels, q, p), 4 maps each
  const int first_map = blockIdx.x % L::kGroups * kMaps;
  for (int i = threadIdx.x; i < L::kTaps; i += kThreads) {
    const int p = i % L::kKernel;
    const int q = i / L::kKernel % L::kKernel;
    const int c = i / (L::kKernel * L::kKernel);
    const float* weight = weights + first_map * L::kTaps + (c * L::kKernel + p) * L::kKernel + q;
    weight_tile[i] =
        make_float4(weight[0], weight[L::kTaps], weight[2 * L::kTaps], weight[3 * L::kTaps]);
  }
  __syncthreads();
  const std::int64_t position = std::int64_t{blockIdx.x} / L::kGroups * kThreads + threadIdx.x;
  if (position >= positions) return;
  const Place<L> place(position);
  const float* window = place.window(input);
  const float4* weight = weight_tile;
  float sum[kMaps][L::kRows] = {};
#pragma unroll 1
  for (int c = 0; c < L::kInChannels; ++c) {
#pragma unroll 1
    for (int q = 0; q < L::kKernel; ++q) {
      float pixel[L::kRows + L::kKernel - 1];
#pragma unroll
      for (int y = 0; y < L::kRows + L::kKernel - 1; ++y) pixel[y] = window[y * L::kWidth];
#pragma unroll
      for (int p = 0; p < L::kKernel; ++p) {
        const float4 four = weight[p];
#pragma unroll
        for (int r = 0; r < L::kRows; ++r) {
          sum[0][r] += pixel[p + r] * four.x;
          sum[1][r] += pixel[p + r] * four.y;
          sum[2][r] += pixel[p + r] * four.z;
          sum[3][r] += pixel[p + r] * four.w;
        }
      }
      weight += L::kKernel;
      ++window;
    }
    window += L::kHeight * L::kWidth - L::kKernel;
  }
  place.store(output, first_map, sum);
}

static inline void launch_first(float* output, const float* input, const float* weights, int batch,
                                cudaStream_t stream) {
  CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights, sizeof(constant_weights), 0,
                                             cudaMemcpyDeviceToDevice, stream));
  const std::int64_t positions = std::int64_t{batch} * First::kPositions;
  const dim3 grid(static_cast<unsigned>((positions + kThreads - 1) / kThreads));
  conv_first<<<grid, kThreads, 0, stream>>>(output, input, positions);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, 0);
}

static inline void launch_second(float* output, const float* input, const float* weights, int batch,
                                 cudaStream_t stream) {
  const std::int64_t positions = std::int64_t{batch} * Second::kPositions;
  const dim3 grid(static_cast<unsigned>((positions + kThreads - 1) / kThreads * Second::kGroups));
  conv_second<<<grid, kThreads, 0, stream>>>(output, input, weights, positions);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, 0);
}

/// Launches the kernel that suits the shape, on `stream`. All pointers are to device memory.
static inline void convolve(float* output, const float* input, const float* weights,
                            const ConvShape& shape, cudaStream_t stream = nullptr) {
  if (First::serves(shape)) {
    launch_first(output, input, weights, shape.batch, stream);
  } else if (Second::serves(shape)) {
    launch_second(output, input, weights, shape.batch, stream);
  } else {
    convolve_row_strips(output, input, weights, shape, stream);
  }
}

}  // namespace convlab::per_layer
