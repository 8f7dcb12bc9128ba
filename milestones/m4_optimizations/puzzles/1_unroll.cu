// Puzzle 1 of 11: a convolution as a matrix product. About eight lines.
//
// output = weights × unrolled input. Each column of the unrolled matrix is the window of one
// output, each row belongs to one tap:
//
//     row t      tap (c, p, q)      t = (c · K + p) · K + q
//     column i   output (h, w)      i = h · out_width + w
//
//     unrolled[t][i] = input[c][h · S + p][w · S + q]
//
// Each thread writes one element. It knows t and i, and must find c, p, q, h and w: by / and %.
// The product itself is already there.
//
// Check it with   build/bin/grader check m4 --stage unroll
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// @param unrolled  taps × columns, row-major
/// @param shape     of one image
__global__ void unroll(const float* input, float* unrolled, ConvShape shape) {
  const int columns = shape.out_height() * shape.out_width();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int t = blockIdx.y;
  if (i >= columns) return;
  // Find the output (h, w) of column i and the tap (c, p, q) of row t; then store one element.
}

// output = weights × unrolled, one thread for each element. Its shape: maps × columns.
__global__ void multiply(const float* weights, const float* unrolled, float* output, int taps,
                         int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int m = blockIdx.y;
  if (i >= columns) return;
  float sum = 0.0f;
  for (int t = 0; t < taps; ++t) sum += weights[m * taps + t] * unrolled[t * columns + i];
  output[m * columns + i] = sum;
}

class Puzzle final : public convlab::DeviceConvolution {
  void prepare() override {
    const int columns = shape().out_height() * shape().out_width();
    unrolled_ = convlab::DeviceBuffer<float>(shape().taps() * columns);
  }

  void release() override { unrolled_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int threads = 64;
    const int columns = shape.out_height() * shape.out_width();
    const int blocks = (columns + threads - 1) / threads;
    const dim3 all_taps(blocks, shape.taps());
    unroll<<<all_taps, threads>>>(input, unrolled_.data(), shape);
    CONVLAB_CUDA_CHECK_LAUNCH(all_taps, threads, 0);
    const dim3 all_maps(blocks, shape.out_channels);
    multiply<<<all_maps, threads>>>(weights, unrolled_.data(), output, shape.taps(), columns);
    CONVLAB_CUDA_CHECK_LAUNCH(all_maps, threads, 0);
  }

  convlab::DeviceBuffer<float> unrolled_;
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "unroll",
                                               .title = "Which input is in row t, column i?",
                                               .order = 1});

}  // namespace
