// Puzzle 2 of 3: threads without an element. One line.
//
// The numbers are 1000 now, and blocks of 64 threads cannot make 1000: 15 blocks are too few (960),
// 16 have 24 threads too many (1024). The launch below takes 16. The 24 threads must do nothing:
// they would read and write past the end of the arrays.
//
// Check it with   build/bin/grader check m2
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

/// @param count  how many numbers there are
__global__ void scale(const float* input, const float* factor, float* output, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // One line is missing here.
  output[i] = factor[0] * input[i];
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* factor,
              const convlab::ConvShape& shape) override {
    const int threads = 64;
    const int count = shape.out_width();
    const int blocks = (count + threads - 1) / threads;  // rounded up
    scale<<<blocks, threads>>>(input, factor, output, count);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, threads, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "bounds",
                                               .title = "Who has nothing to do?",
                                               .order = 2});

}  // namespace
