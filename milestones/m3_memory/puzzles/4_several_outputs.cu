// Puzzle 4 of 4: several outputs for each thread, loops without a counter. About eight lines.
//
// A thread that makes one output loads an input and a tap for each multiply-add. Let it make 4
// outputs: each tap that it loads then serves 4 multiply-adds. Its outputs lie kBlock apart, so
// that the threads of a warp still read and write neighbours:
//
//     output k of thread t of a block:  first + t + k · kBlock,   k = 0, 1, 2, 3
//
// Keep the 4 sums in an array. With #pragma unroll before each loop over k, and with sizes that are
// known when it is compiled, the compiler writes the loop out and the array becomes 4 registers.
// This is what makes the fastest stage of this milestone fast.
//
//     float sum[kOutputs] = {};
//     for (int q = 0; q < kTaps; ++q) { load the tap once; add to all 4 sums }
//     store those sums whose output exists
//
// Check it with   build/bin/grader check m3
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kBlock = 64;
constexpr int kTaps = 5;
constexpr int kOutputs = 4;  // of each thread

__global__ void smooth(const float* input, const float* filter, float* output, int outputs) {
  const int first = blockIdx.x * kBlock * kOutputs + threadIdx.x;
  // Compute and store the outputs of this thread here.
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* filter,
              const convlab::ConvShape& shape) override {
    // The last row of each array: behind it nothing may be read.
    input += (shape.height - 1) * shape.width;
    filter += (shape.kernel - 1) * shape.kernel;
    const int outputs = shape.out_width();
    const int per_block = kBlock * kOutputs;
    const int blocks = (outputs + per_block - 1) / per_block;
    smooth<<<blocks, kBlock>>>(input, filter, output, outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kBlock, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "several-outputs",
                                               .title = "Four outputs for each thread",
                                               .order = 4});

}  // namespace
