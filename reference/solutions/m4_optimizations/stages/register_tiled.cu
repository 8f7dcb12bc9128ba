// The matrix product with tiles in shared memory and in registers.
//
// Idea     In fused-gemm every multiply-add loads both factors from shared memory, and each input
//          element is first stored there. Keep each matrix where it is used: the weights, which all
//          threads need, in shared memory; a tile of the input and a tile of the sums in the
//          registers of the one thread that uses them.
// Picture  one thread, one tap, Maps = 16, Columns = 4:
//
//                        4 input elements, loaded into registers
//                        i i i i
//              16      w S S S S
//              weights w S S S S      64 sums in registers
//              from    w S S S S
//              shared  …
//
// Cost     per tap 4 input loads and 4 loads of 16 bytes for 64 multiply-adds, 8 for each load;
//          fused-gemm: a half. Only the weights are stored in shared memory, once.
// Expect   four to five times as fast as fused-gemm; the second convolution comes near the
//          arithmetic limit, the first, with 4 maps, stays limited by its loads.
// Run      build/bin/m4 1000 --stage register-tiled --solution reference

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace {

using convlab::ConvShape;

constexpr int kThreads = 128;
constexpr int kWeightFloats = 4096;  // 16 KiB: all taps of the network's convolutions

// A block computes Maps maps of kThreads · Columns columns, a thread Columns of them, which lie
// kThreads apart so that a warp loads and stores neighbours. KernelSize 0 means any.
template <int KernelSize, int Maps, int Columns>
__global__ void __launch_bounds__(kThreads, 4)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape) {
  static_assert(Maps % 4 == 0, "weights are read four at a time");
  __shared__ __align__(16) float weight_tile[kWeightFloats];  // (taps of some channels, Maps)
  const int kernel = KernelSize > 0 ? KernelSize : shape.kernel;
  const int window = kernel * kernel;
  const int first_map = blockIdx.y * Maps;
  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * (kThreads * Columns);
  // One 64-bit division for the block; each thread then divides in 32 bits.
  const std::int64_t first_image = first_column / pixels;
  const unsigned first_pixel = static_cast<unsigned>(first_column - first_image * pixels);

  const float* row[Columns];  // where the next row of this column's window begins
  float sum[Columns][Maps] = {};
#pragma unroll
  for (int n = 0; n < Columns; ++n) {
    // A thread beyond the last column computes the last one again and does not store it.
    const std::int64_t wanted = first_column + threadIdx.x + n * kThreads;
    const int back = wanted < columns ? 0 : static_cast<int>(wanted - columns) + 1;
    const unsigned place = first_pixel + threadIdx.x + n * kThreads - back;
    const unsigned pixel = place % pixels;
    const unsigned h = pixel / shape.out_width();
    const unsigned w = pixel % shape.out_width();
    row[n] = input + (first_image + place / pixels) * shape.input_image_size() +
             h * shape.stride * shape.width + w * shape.stride;
  }

  const int channels_at_once = max(1, kWeightFloats / (Maps * window));
  for (int first_c = 0; first_c < shape.in_channels; first_c += channels_at_once) {
    const int channels = min(channels_at_once, shape.in_channels - first_c);
    __syncthreads();  // all threads have used the weights before
    for (int i = threadIdx.x; i < channels * window * Maps; i += kThreads) {
      const int map = first_map + i % Maps;
      const int tap = first_c * window + i / Maps;
      weight_tile[i] = map < shape.out_channels ? weights[map * shape.taps() + tap] : 0.0f;
    }
    __syncthreads();
    const float4* weight = reinterpret_cast<const float4*>(weight_tile);
    for (int c = 0; c < channels; ++c) {
      for (int p = 0; p < kernel; ++p) {
#pragma unroll
        for (int q = 0; q < kernel; ++q) {
          float pixel[Columns];
#pragma unroll
          for (int n = 0; n < Columns; ++n) pixel[n] = row[n][q];
#pragma unroll
          for (int m = 0; m < Maps; m += 4) {
            const float4 four = *weight++;
#pragma unroll
            for (int n = 0; n < Columns; ++n) {
              sum[n][m] += four.x * pixel[n];
              sum[n][m + 1] += four.y * pixel[n];
              sum[n][m + 2] += four.z * pixel[n];
              sum[n][m + 3] += four.w * pixel[n];
            }
          }
        }
#pragma unroll
        for (int n = 0; n < Columns; ++n) row[n] += shape.width;
      }
#pragma unroll
      for (int n = 0; n < Columns; ++n) row[n] += (shape.height - kernel) * shape.width;
    }
  }

#pragma unroll
  for (int n = 0; n < Columns; ++n) {
    if (first_column + threadIdx.x + n * kThreads >= columns) continue;
    const unsigned place = first_pixel + threadIdx.x + n * kThreads;
    float* to = output + (first_image + place / pixels) * shape.output_image_size() +
                std::int64_t{first_map} * pixels + place % pixels;
#pragma unroll
    for (int m = 0; m < Maps; ++m) {
      if (first_map + m < shape.out_channels) to[m * pixels] = sum[n][m];
    }
  }
}

struct Variant {
  void (*kernel)(float*, const float*, const float*, ConvShape);
  int maps;
  int columns;
};

template <int KernelSize>
Variant variant_for(int out_channels) {
  // With few maps most of a tall tile would be idle: a flat tile has more columns instead.
  if (out_channels <= 4) return {conv_forward<KernelSize, 4, 8>, 4, 8};
  return {conv_forward<KernelSize, 16, 4>, 16, 4};
}

class RegisterTiled final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (16 * shape.kernel * shape.kernel > kWeightFloats) {  // one channel would not fit
      return convlab::convolve_any_shape(output, input, weights, shape);
    }
    const Variant variant = shape.kernel == 7   ? variant_for<7>(shape.out_channels)
                            : shape.kernel == 5 ? variant_for<5>(shape.out_channels)
                                                : variant_for<0>(shape.out_channels);
    const std::int64_t columns = std::int64_t{shape.batch} * shape.out_height() * shape.out_width();
    const int block_columns = kThreads * variant.columns;
    const dim3 grid(static_cast<unsigned>((columns + block_columns - 1) / block_columns),
                    (shape.out_channels + variant.maps - 1) / variant.maps);
    variant.kernel<<<grid, kThreads>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, 0);
  }
};

const convlab::LadderStage<RegisterTiled> stage(
    "register-tiled", "Matrix product, tiles in shared memory and registers");

}  // namespace
