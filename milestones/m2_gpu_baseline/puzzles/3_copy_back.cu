// Puzzle 3 of 3: copy the result back. About four lines.
//
// A GPU has its own memory. prolog reserves arrays there and copies the numbers to it:
//
//     cudaMalloc(&pointer, bytes)
//     cudaMemcpy(to, from, bytes, direction)      the target comes first, as in memcpy
//
// The kernel's result lies in device_output_, where the host cannot read it. epilog must copy it to
// host_output_ and give the memory back with cudaFree. Sizes are in bytes: a float has 4.
//
// Check it with   build/bin/grader check m2
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

__global__ void scale(const float* input, const float* factor, float* output, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) output[i] = factor[0] * input[i];
}

class Puzzle final : public convlab::Convolution {
 public:
  void prolog(const convlab::ConvShape& shape, const float* input, const float* factor,
              float* output) override {
    host_output_ = output;
    count_ = shape.out_width();
    CONVLAB_CUDA_CHECK(cudaMalloc(&device_input_, count_ * sizeof(float)));
    CONVLAB_CUDA_CHECK(cudaMalloc(&device_factor_, sizeof(float)));
    CONVLAB_CUDA_CHECK(cudaMalloc(&device_output_, count_ * sizeof(float)));
    CONVLAB_CUDA_CHECK(
        cudaMemcpy(device_input_, input, count_ * sizeof(float), cudaMemcpyHostToDevice));
    CONVLAB_CUDA_CHECK(cudaMemcpy(device_factor_, factor, sizeof(float), cudaMemcpyHostToDevice));
  }

  void convolve() override {
    const int threads = 64;
    const int blocks = (count_ + threads - 1) / threads;
    scale<<<blocks, threads>>>(device_input_, device_factor_, device_output_, count_);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, threads, 0);
  }

  void epilog() override {
    // Copy device_output_ to host_output_ (cudaMemcpyDeviceToHost), then free the three arrays.
  }

 private:
  int count_ = 0;
  float* host_output_ = nullptr;
  float* device_input_ = nullptr;
  float* device_factor_ = nullptr;
  float* device_output_ = nullptr;
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "copy-back",
                                               .title = "Where is the result?",
                                               .order = 3});

}  // namespace
