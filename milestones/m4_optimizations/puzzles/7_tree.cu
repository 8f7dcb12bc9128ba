// Puzzle 7 of 11: a sum as a tree. About five lines.
//
// 64 threads have one product each, in shared memory. To add them one after the other takes 63
// steps of a single thread. In a tree, the lower half of the threads adds the upper half's numbers
// to its own, then a quarter does, and so on: 6 steps.
//
//     part[0 … 63]     part[0 … 31] += part[32 … 63]     32 threads add
//                      part[0 … 15] += part[16 … 31]     16 threads
//                      …
//                      part[0]      += part[1]            1 thread
//
// After each step every thread must wait: the next step reads what this one has written. A barrier
// inside the `if` of those who add would wait for threads that never come.
//
// Check it with   build/bin/grader check m4 --stage tree
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kChannels = 64;

/// output[w] = Σ over c of input[c][w] · weights[c]; a block for each w, a thread for each c.
__global__ void sum_channels(const float* input, const float* weights, float* output, int width) {
  __shared__ float part[kChannels];
  const int c = threadIdx.x;
  const int w = blockIdx.x;
  part[c] = input[c * width + w] * weights[c];
  __syncthreads();
  // Add up part[0 … 63] in six steps; the sum ends in part[0].
  if (c == 0) output[w] = part[0];
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const int blocks = shape.out_width();
    sum_channels<<<blocks, kChannels>>>(input, weights, output, shape.width);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kChannels, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "tree",
                                               .title = "A sum in six steps",
                                               .order = 7});

}  // namespace
