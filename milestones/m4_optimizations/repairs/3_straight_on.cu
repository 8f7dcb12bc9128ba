// Repair 3 of 10: the same filter, from global memory
//
// Each thread loads its five inputs itself.
//
// As it is, the check shows what goes wrong and asks for the cause. Name it, then mend it:
//   build/bin/grader check m4 --stage straight-on
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTaps = 5;
constexpr int kThreads = 64;

__global__ void filter(float* output, const float* input, const float* weights, int outputs) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= outputs) return;
  float result = 0.0f;
  for (int t = 0; t < kTaps; ++t) result += weights[t] * input[i + t];
  output[i] = result;
}

class Repair final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    // The last row of each array: behind it nothing may be read.
    input += (shape.height - 1) * shape.width;
    weights += (shape.kernel - 1) * shape.kernel;
    const int outputs = shape.out_width();
    const int blocks = outputs / kThreads;
    filter<<<blocks, kThreads>>>(output, input, weights, outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
  }
};

const convlab::ConvolutionStage<Repair> stage({.id = "straight-on",
                                               .title = "The same filter, from global memory",
                                               .order = 3});

}  // namespace
