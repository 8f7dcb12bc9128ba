// Repair 1 of 10: a filter of five taps
//
// A filter of 5 taps on a row of numbers: output[i] = Σ over t of weights[t] · input[i + t]. A
// block brings its inputs to shared memory first. 1000 outputs are no multiple of 64.
//
// As it is, the check shows what goes wrong and asks for the cause. Name it, then mend it:
//   build/bin/grader check m4 --stage left-alone
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTaps = 5;
constexpr int kThreads = 64;

__global__ void filter(float* output, const float* input, const float* weights, int outputs) {
  __shared__ float near[kThreads + kTaps - 1];
  const int first = blockIdx.x * kThreads;
  const int i = first + threadIdx.x;
  if (i >= outputs) return;
  for (int k = threadIdx.x; k < kThreads + kTaps - 1; k += kThreads) {
    near[k] = first + k < outputs + kTaps - 1 ? input[first + k] : 0.0f;
  }
  __syncthreads();
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

const convlab::ConvolutionStage<Repair> stage({.id = "left-alone",
                                               .title = "A filter of five taps",
                                               .order = 1});

}  // namespace
