// Milestone 4, Winograd's F(2, 3) along rows, as students write it: a row of the filter is cut into parts
// of three taps, the rest is multiplied directly. Mistakes of grader/corpus/mistakes change this file.
#include <cuda_runtime.h>

#include <cstddef>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/device_convolution.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

// Four numbers for each part of three taps.
__global__ void transform_weights(float* transformed, const float* weights, ConvShape shape) {
  const int parts = shape.kernel / 3;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= shape.out_channels * shape.in_channels * shape.kernel * parts) return;
  const float* g = weights + i / parts * shape.kernel + i % parts * 3;
  transformed[i * 4] = g[0];
  transformed[i * 4 + 1] = (g[0] + g[1] + g[2]) / 2;
  transformed[i * 4 + 2] = (g[0] - g[1] + g[2]) / 2;
  transformed[i * 4 + 3] = g[2];
}

// A thread computes outputs w and w + 1. Without the second one, its columns may lie outside.
__global__ void winograd(float* output, const float* input, const float* weights,
                         const float* transformed, ConvShape shape) {
  const int parts = shape.kernel / 3;
  const int pairs = (shape.out_width() + 1) / 2;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs * shape.out_height()) return;
  const int h = i / pairs;
  const int w = i % pairs * 2;
  const int m = blockIdx.y;
  const std::size_t b = blockIdx.z;
  const bool has_second = w + 1 < shape.out_width();
  float sums[4] = {};
  float first = 0.0f;
  float second = 0.0f;
  for (int c = 0; c < shape.in_channels; ++c) {
    for (int p = 0; p < shape.kernel; ++p) {
      const float* row =
          input + ((b * shape.in_channels + c) * shape.height + h + p) * shape.width;
      const int filter_row = (m * shape.in_channels + c) * shape.kernel + p;
      for (int part = 0; part < parts; ++part) {
        float d[4];
        for (int k = 0; k < 4; ++k) {
          d[k] = k < 3 || has_second ? row[w + part * 3 + k] : 0.0f;
        }
        const float* t = transformed + (filter_row * parts + part) * 4;
        sums[0] += (d[0] - d[2]) * t[0];
        sums[1] += (d[1] + d[2]) * t[1];
        sums[2] += (d[2] - d[1]) * t[2];
        sums[3] += (d[1] - d[3]) * t[3];
      }
      for (int q = parts * 3; q < shape.kernel; ++q) {
        const float weight = weights[filter_row * shape.kernel + q];
        first += row[w + q] * weight;
        if (has_second) second += row[w + q + 1] * weight;
      }
    }
  }
  float* out = output + ((b * shape.out_channels + m) * shape.out_height() + h) * shape.out_width();
  out[w] = first + sums[0] + sums[1] + sums[2];
  if (has_second) out[w + 1] = second + sums[1] - sums[2] - sums[3];
}

__global__ void direct(float* output, const float* input, const float* weights, ConvShape shape) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= shape.out_width() * shape.out_height()) return;
  const int h = i / shape.out_width();
  const int w = i % shape.out_width();
  const int m = blockIdx.y;
  const std::size_t b = blockIdx.z;
  float sum = 0.0f;
  for (int c = 0; c < shape.in_channels; ++c) {
    for (int p = 0; p < shape.kernel; ++p) {
      for (int q = 0; q < shape.kernel; ++q) {
        sum += input[((b * shape.in_channels + c) * shape.height + h * shape.stride + p) *
                         shape.width + (w * shape.stride + q)] *
               weights[((m * shape.in_channels + c) * shape.kernel + p) * shape.kernel + q];
      }
    }
  }
  output[((b * shape.out_channels + m) * shape.out_height() + h) * shape.out_width() + w] = sum;
}

class Winograd : public convlab::DeviceConvolution {
  void prepare() override {
    count_ = shape().out_channels * shape().in_channels * shape().kernel * (shape().kernel / 3);
    if (count_ > 0) transformed_ = convlab::DeviceBuffer<float>(count_ * 4);
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (shape.stride != 1) {
      const dim3 grid((shape.out_width() * shape.out_height() + 127) / 128, shape.out_channels,
                      shape.batch);
      direct<<<grid, 128>>>(output, input, weights, shape);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, 128, 0);
      return;
    }
    if (count_ > 0) {
      const dim3 blocks((count_ + 127) / 128);
      transform_weights<<<blocks, 128>>>(transformed_.data(), weights, shape);
      CONVLAB_CUDA_CHECK_LAUNCH(blocks, 128, 0);
    }
    const int pairs = (shape.out_width() + 1) / 2;
    const dim3 grid((pairs * shape.out_height() + 127) / 128, shape.out_channels, shape.batch);
    winograd<<<grid, 128>>>(output, input, weights, transformed_.data(), shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, 128, 0);
  }

  void release() override { transformed_ = {}; }

  int count_ = 0;
  convlab::DeviceBuffer<float> transformed_;
};

const convlab::ConvolutionStage<Winograd> stage({.id = "winograd",
                                                 .title = "Winograd in rows",
                                                 .precision = convlab::Precision::kTf32});

}  // namespace
