// Puzzle 5 of 11: a matrix that does not fit. About seven lines, on the host.
//
// The unrolled matrix of 1000 outputs has 1000 columns of 5 taps, but there is room for 256
// columns. So work in slices: unroll the first 256 columns, multiply, unroll the next 256 into the
// same memory, and so on. The last slice is shorter:
//
//     columns   0 … 255 | 256 … 511 | 512 … 767 | 768 … 999
//     count         256         256         256         232
//
// For each slice move two pointers, that of the input and that of the output. Both kernels get the
// number of columns of *this* slice. Launches of one stream run one after the other, so no slice
// overwrites the matrix too early.
//
// Check it with   build/bin/grader check m4 --stage slices
#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTaps = 5;
constexpr int kRoom = 256;  // columns of the unrolled matrix that fit
constexpr int kThreads = 64;

/// unrolled[t][i] = input[i + t], kTaps × columns.
__global__ void unroll(const float* input, float* unrolled, int columns) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= columns) return;
  for (int t = 0; t < kTaps; ++t) unrolled[t * columns + i] = input[i + t];
}

/// output[i] = Σ over t of filter[t] · unrolled[t][i].
__global__ void multiply(const float* filter, const float* unrolled, float* output, int columns) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= columns) return;
  float sum = 0.0f;
  for (int t = 0; t < kTaps; ++t) sum += filter[t] * unrolled[t * columns + i];
  output[i] = sum;
}

class Puzzle final : public convlab::DeviceConvolution {
  void prepare() override { unrolled_ = convlab::DeviceBuffer<float>(kTaps * kRoom); }

  void release() override { unrolled_ = {}; }

  void launch(float* output, const float* input, const float* filter,
              const convlab::ConvShape& shape) override {
    // The last row of each array: behind it nothing may be read.
    input += (shape.height - 1) * shape.width;
    filter += (shape.kernel - 1) * shape.kernel;
    const int outputs = shape.out_width();
    // These four lines do everything at once, which does not fit. Make them a loop over slices.
    const int blocks = (outputs + kThreads - 1) / kThreads;
    unroll<<<blocks, kThreads>>>(input, unrolled_.data(), outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
    multiply<<<blocks, kThreads>>>(filter, unrolled_.data(), output, outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
  }

  convlab::DeviceBuffer<float> unrolled_;
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "slices",
                                               .title = "A matrix that does not fit",
                                               .order = 5});

}  // namespace
