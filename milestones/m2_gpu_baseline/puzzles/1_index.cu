// Puzzle 1 of 3: the index of a thread. Two lines.
//
// A kernel is a function that many threads run at once; __global__ in front of it says so. All of
// them get the same arguments, so each must find out which element is its own. It knows
//
//     threadIdx.x   its number within its block, 0 … blockDim.x - 1
//     blockIdx.x    the number of its block, 0 … gridDim.x - 1
//     blockDim.x    how many threads a block has
//
// Here 4 blocks of 64 threads double, halve, … 256 numbers: output[i] = factor[0] · input[i].
//
//     block        0            1            2            3
//     threads      0 … 63       0 … 63       0 … 63       0 … 63
//     elements     0 … 63      64 … 127    128 … 191    192 … 255
//
// Check it with   build/bin/grader check m2
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

/// All three point to device memory. @param factor  a single number
__global__ void scale(const float* input, const float* factor, float* output) {
  // Which element belongs to this thread? Two lines:
  //     const int i = …;
  //     output[i] = …;
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* factor,
              const convlab::ConvShape& shape) override {
    const int threads = 64;
    const int blocks = shape.out_width() / threads;  // 256 numbers: 4 blocks
    scale<<<blocks, threads>>>(input, factor, output);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, threads, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "index",
                                               .title = "Which element is mine?",
                                               .order = 1});

}  // namespace
