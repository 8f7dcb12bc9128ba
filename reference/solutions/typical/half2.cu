// Milestone 4, two neighbouring outputs of a map in one half2, the weights in shared memory. Mistakes of
// grader/corpus/mistakes change this file.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/stage/device_convolution.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

constexpr int kThreads = 64;
constexpr int kMost = 128;  // weights in shared memory at a time

__global__ void two_outputs(float* output, const float* input, const float* weights,
                            ConvShape shape) {
  __shared__ half filter[kMost];
  const int pairs = (shape.out_width() + 1) / 2;
  const int pair = blockIdx.x * kThreads + threadIdx.x;
  const int h = pair / pairs;
  const int w = pair % pairs * 2;
  const int m = blockIdx.y;
  const std::size_t b = blockIdx.z;
  const int taps = shape.in_channels * shape.kernel * shape.kernel;
  const bool has_work = h < shape.out_height();
  float first = 0.0f;
  float second = 0.0f;
  for (int begin = 0; begin < taps; begin += kMost) {
    const int count = min(kMost, taps - begin);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += kThreads) {
      filter[k] = __float2half(weights[m * taps + begin + k]);
    }
    __syncthreads();
    if (!has_work) continue;
    for (int k = 0; k < count; ++k) {
      const int tap = begin + k;
      const int c = tap / (shape.kernel * shape.kernel);
      const int p = tap / shape.kernel % shape.kernel;
      const int q = tap % shape.kernel;
      const int column = w * shape.stride + q;
      const float* row =
          input + ((b * shape.in_channels + c) * shape.height + h * shape.stride + p) * shape.width;
      const float left = row[column];
      const float right = w + 1 < shape.out_width() ? row[column + shape.stride] : 0.0f;
      const half2 products = __hmul2(__floats2half2_rn(left, right), __half2half2(filter[k]));
      first += __low2float(products);
      second += __high2float(products);
    }
  }
  if (!has_work) return;
  float* out = output + ((b * shape.out_channels + m) * shape.out_height() + h) * shape.out_width();
  out[w] = first;
  if (w + 1 < shape.out_width()) out[w + 1] = second;
}

class TwoOutputs : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int pairs = (shape.out_width() + 1) / 2;
    const dim3 grid((pairs * shape.out_height() + kThreads - 1) / kThreads, shape.out_channels,
                    shape.batch);
    two_outputs<<<grid, kThreads>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, 0);
  }
};

const convlab::ConvolutionStage<TwoOutputs> stage({.id = "half2",
                                                   .title = "Two outputs in a half2",
                                                   .precision = convlab::Precision::kFp16Products});

}  // namespace
