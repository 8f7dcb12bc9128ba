// Repair 10 of 10: a copy through a second array
//
// output[i] = weights[0] · input[i], through a second array on the device.
//
// As it is, the check shows what goes wrong and asks for the cause. Name it, then mend it:
//   build/bin/grader check m4 --stage full-house
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kThreads = 64;

__global__ void scale(float* to, const float* from, const float* weights, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) to[i] = weights[0] * from[i];
}

__global__ void copy(float* to, const float* from, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) to[i] = from[i];
}

class Repair final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const int count = shape.out_width();
    const int blocks = (count + kThreads - 1) / kThreads;
    float* between = nullptr;
    CONVLAB_CUDA_CHECK(cudaMalloc(&between, count * sizeof(float)));
    scale<<<blocks, kThreads>>>(between, input, weights, count);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
    copy<<<blocks, kThreads>>>(output, between, count);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, 0);
  }
};

const convlab::ConvolutionStage<Repair> stage({.id = "full-house",
                                               .title = "A copy through a second array",
                                               .order = 10});

}  // namespace
