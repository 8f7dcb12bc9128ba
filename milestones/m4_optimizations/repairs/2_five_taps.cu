// Repair 2 of 10: the same filter, in another way
//
// output[i] = Σ over t of weights[t] · input[i + t], 1000 outputs.
//
// As it is, the check shows what goes wrong and asks for the cause. Name it, then mend it:
//   build/bin/grader check m4 --stage five-taps
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTaps = 5;
constexpr int kThreads = 64;

__global__ void filter(float* output, const float* input, const float* weights, int outputs) {
  __shared__ float near[kThreads + kTaps - 1];
  const int first = blockIdx.x * kThreads;
  const int inputs = outputs + kTaps - 1;
  const int i = first + threadIdx.x;
  near[threadIdx.x] = i < inputs ? input[i] : 0.0f;
  __syncthreads();
  if (i >= outputs) return;
  float result = 0.0f;
  for (int t = 0; t < kTaps; ++t) result += weights[t] * near[threadIdx.x + t];
  output[i] = result;
}

class Repair final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    // The last row of each array: behind it nothing may be read.
    input += (shape.height - 1) * shape.width;
    weights += (shape.kernel - 1) * shape.kernel;
    const int outputs = shape.out_width();
    const int blocks = (outputs + kThreads - 1) / kThreads;
    filter<<<blocks, kThreads>>>(output, input, weights, outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
  }
};

const convlab::ConvolutionStage<Repair> stage({.id = "five-taps",
                                               .title = "The same filter, in another way",
                                               .order = 2});

}  // namespace
