// Puzzle 1 of 4: a tile with a halo. About four lines.
//
// A convolution in one dimension: output[i] = Σ over q of input[i + q] · filter[q], with 5 taps.
// A block of 64 threads makes 64 outputs and needs 64 + 5 - 1 = 68 inputs. The 4 more are the halo:
//
//     outputs of the block      i = first …………………… first + 63
//     inputs that it needs      first …………………………………………… first + 67
//                               └── one for each thread ──┘└ halo ┘
//
// Load them into shared memory: each thread loads tile[threadIdx.x], and the first 4 threads load
// one more; or let every thread take each 64th element in a loop. The input has outputs + 4
// elements. Where the tile goes beyond them, store 0.
//
// Check it with   build/bin/grader check m3
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kBlock = 64;
constexpr int kTaps = 5;

__global__ void smooth(const float* input, const float* filter, float* output, int outputs) {
  __shared__ float tile[kBlock + kTaps - 1];
  const int first = blockIdx.x * kBlock;
  // Fill tile[0] … tile[kBlock + kTaps - 2] here.
  __syncthreads();
  float sum = 0.0f;
  for (int q = 0; q < kTaps; ++q) sum += tile[threadIdx.x + q] * filter[q];
  if (first + static_cast<int>(threadIdx.x) < outputs) output[first + threadIdx.x] = sum;
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* filter,
              const convlab::ConvShape& shape) override {
    // The last row of each array: behind it nothing may be read.
    input += (shape.height - 1) * shape.width;
    filter += (shape.kernel - 1) * shape.kernel;
    const int outputs = shape.out_width();
    const int blocks = (outputs + kBlock - 1) / kBlock;
    smooth<<<blocks, kBlock>>>(input, filter, output, outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kBlock, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "halo",
                                               .title = "Load a tile with its halo",
                                               .order = 1});

}  // namespace
