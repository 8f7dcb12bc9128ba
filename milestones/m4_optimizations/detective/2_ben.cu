// Three products: Ben's kernel
//
// output[m][w] = Σ over c of weights[m][c] · input[c][w], 4 maps and 8 channels. Ann, Ben and Cleo
// wrote a kernel each. All three are right, and one is slow.
//
// First solve the case from the counters, without reading the kernels:
//   build/bin/grader check m4 --stage detective
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kMaps = 4;
constexpr int kChannels = 8;
constexpr int kThreads = 64;
constexpr int kColumns = 32;  // of a thread

/// Each thread keeps the weights in registers and computes all maps of 32 columns.
__global__ void multiply(float* output, const float* input, const float* weights, int columns) {
  float weight[kMaps][kChannels];
  for (int m = 0; m < kMaps; ++m) {
    for (int c = 0; c < kChannels; ++c) weight[m][c] = weights[m * kChannels + c];
  }
  const int first = (blockIdx.x * kThreads + threadIdx.x) * kColumns;
  for (int i = 0; i < kColumns; ++i) {
    const int w = first + i;
    if (w >= columns) return;
    float result[kMaps] = {};
    for (int c = 0; c < kChannels; ++c) {
      const float pixel = input[c * columns + w];
      for (int m = 0; m < kMaps; ++m) result[m] += weight[m][c] * pixel;
    }
    for (int m = 0; m < kMaps; ++m) output[m * columns + w] = result[m];
  }
}

class Suspect final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const int columns = shape.out_width();
    const int of_block = kThreads * kColumns;
    const int blocks = (columns + of_block - 1) / of_block;
    multiply<<<blocks, kThreads>>>(output, input, weights, columns);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
  }
};

const convlab::ConvolutionStage<Suspect> stage({.id = "ben", .title = "Ben's kernel", .order = 2});

}  // namespace
