// Puzzle 3 of 4: constant memory. One or two lines.
//
// All threads of a warp need the same tap at the same time. A __constant__ array has a cache that
// hands one number to a whole warp. A kernel reads it as any array; it is no argument, because
// every kernel of the file sees it. The host fills it with
//
//     cudaMemcpyToSymbol(array, from, bytes, offset, direction)
//
// Here the taps are already in device memory, so the direction is cudaMemcpyDeviceToDevice, and the
// offset is 0.
//
// Check it with   build/bin/grader check m3
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kBlock = 64;
constexpr int kTaps = 5;

__constant__ float taps[kTaps];

__global__ void smooth(const float* input, float* output, int outputs) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= outputs) return;
  float sum = 0.0f;
  for (int q = 0; q < kTaps; ++q) sum += input[i + q] * taps[q];
  output[i] = sum;
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* filter,
              const convlab::ConvShape& shape) override {
    // The last row of each array: behind it nothing may be read.
    input += (shape.height - 1) * shape.width;
    filter += (shape.kernel - 1) * shape.kernel;
    // Copy the kTaps numbers of `filter` into `taps`.
    const int outputs = shape.out_width();
    const int blocks = (outputs + kBlock - 1) / kBlock;
    smooth<<<blocks, kBlock>>>(input, output, outputs);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kBlock, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "constant",
                                               .title = "Taps in constant memory",
                                               .order = 3});

}  // namespace
