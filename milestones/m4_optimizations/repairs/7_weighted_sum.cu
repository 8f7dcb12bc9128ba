// Repair 7 of 10: a weighted sum of channels
//
// output[w] = Σ over c of input[c][w] · weights[c]: a thread for each w.
//
// As it is, the check shows what goes wrong and asks for the cause. Name it, then mend it:
//   build/bin/grader check m4 --stage weighted-sum
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kThreads = 64;

__global__ void sum_channels(float* output, const float* input, const float* weights, int channels,
                             int width) {
  const int w = blockIdx.x * kThreads + threadIdx.x;
  if (w >= width) return;
  for (int c = 0; c < channels; ++c) {
    float result = 0.0f;
    result += input[c * width + w] * weights[c];
    output[w] = result;
  }
}

class Repair final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const int blocks = (shape.width + kThreads - 1) / kThreads;
    sum_channels<<<blocks, kThreads>>>(output, input, weights, shape.in_channels, shape.width);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
  }
};

const convlab::ConvolutionStage<Repair> stage({.id = "weighted-sum",
                                               .title = "A weighted sum of channels",
                                               .order = 7});

}  // namespace
