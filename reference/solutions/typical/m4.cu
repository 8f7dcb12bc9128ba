// Milestone 4, unrolled input and tiled product, as students write it. Mistakes of grader/corpus/mistakes
// change this file.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/device_convolution.cuh"
#include "common/stage/stage.hpp"
#include "common/base/conv_shape.hpp"

namespace {

using convlab::ConvShape;

constexpr int kTile = 16;

__global__ void unroll_input(float* unrolled, const float* input, ConvShape shape) {
  const std::int64_t pixels = std::int64_t{shape.out_height()} * shape.out_width();
  const std::int64_t columns = shape.batch * pixels;
  const int taps = shape.in_channels * shape.kernel * shape.kernel;
  const std::int64_t column = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (column >= columns) return;
  const std::int64_t image = column / pixels;
  const int h = column % pixels / shape.out_width();
  const int w = column % pixels % shape.out_width();
  for (int tap = 0; tap < taps; ++tap) {
    const int c = tap / (shape.kernel * shape.kernel);
    const int p = tap / shape.kernel % shape.kernel;
    const int q = tap % shape.kernel;
    const int row = h * shape.stride + p;
    const int pixel = w * shape.stride + q;
    unrolled[tap * columns + column] =
        input[((image * shape.in_channels + c) * shape.height + row) * shape.width + pixel];
  }
}

__global__ void multiply(float* output, const float* weights, const float* unrolled, int maps,
                         int taps, std::int64_t columns, int pixels) {
  __shared__ float weight_tile[kTile][kTile];
  __shared__ float input_tile[kTile][kTile];
  const int map = blockIdx.y * kTile + threadIdx.y;
  const std::int64_t column = blockIdx.x * std::int64_t{kTile} + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < taps; first += kTile) {
    const int tap = first + threadIdx.x;
    const int row = first + threadIdx.y;
    weight_tile[threadIdx.y][threadIdx.x] =
        map < maps && tap < taps ? weights[map * taps + tap] : 0.0f;
    input_tile[threadIdx.y][threadIdx.x] =
        row < taps && column < columns ? unrolled[row * columns + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      sum += weight_tile[threadIdx.y][k] * input_tile[k][threadIdx.x];
    }
    __syncthreads();
  }
  if (map < maps && column < columns) {
    const std::int64_t image = column / pixels;
    output[(image * maps + map) * pixels + column % pixels] = sum;
  }
}

class Im2colGemm : public convlab::DeviceConvolution {
  void prepare() override {
    const std::int64_t image =
        std::int64_t{shape().taps()} * shape().out_height() * shape().out_width();
    const std::int64_t room = workspace_bytes() / std::int64_t{sizeof(float)};
    slice_ = static_cast<int>(std::clamp<std::int64_t>(room / image, 1, shape().batch));
    unrolled_ = convlab::DeviceBuffer<float>(slice_ * image);
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int pixels = shape.out_height() * shape.out_width();
    for (int b = 0; b < shape.batch; b += slice_) {
      ConvShape slice = shape;
      slice.batch = std::min(slice_, shape.batch - b);
      const std::int64_t columns = std::int64_t{slice.batch} * pixels;
      const dim3 blocks((columns + 255) / 256);
      unroll_input<<<blocks, 256>>>(unrolled_.data(), input, slice);
      CONVLAB_CUDA_CHECK_LAUNCH(blocks, 256, 0);
      const dim3 block(kTile, kTile);
      const dim3 grid((columns + kTile - 1) / kTile, (shape.out_channels + kTile - 1) / kTile);
      multiply<<<grid, block>>>(output, weights, unrolled_.data(), shape.out_channels, shape.taps(),
                                columns, pixels);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
      input += slice.batch * shape.input_image_size();
      output += slice.batch * shape.output_image_size();
    }
  }

  void release() override { unrolled_ = {}; }

  int slice_ = 1;  // images that are unrolled at a time
  convlab::DeviceBuffer<float> unrolled_;
};

const convlab::ConvolutionStage<Im2colGemm> stage({.id = "im2col-gemm",
                                                   .title = "Unrolled input, tiled product"});

}  // namespace
