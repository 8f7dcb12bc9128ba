// Puzzle 2 of 4: the second barrier. One line.
//
// The same convolution, summed over several channels; one tile serves them all, one after the
// other. The barrier below lets nobody read the tile before it is full. But a thread that has
// finished its sum goes on to the next channel, and stores there what others have not yet read.
//
//     thread 0    load channel 0 | wait | sum | load channel 1 …
//     thread 9    load channel 0 | wait |     … still summing up channel 0
//
// Add the line that is missing. Every thread must reach it.
//
// Check it with   build/bin/grader check m3
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kBlock = 64;
constexpr int kTaps = 5;

/// @param stride  from the beginning of one channel of the input to the next
/// @param taps    the same for the filter
__global__ void smooth(const float* input, const float* filter, float* output, int outputs,
                       int channels, int stride, int taps) {
  __shared__ float tile[kBlock + kTaps - 1];
  const int first = blockIdx.x * kBlock;
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c) {
    for (int x = threadIdx.x; x < kBlock + kTaps - 1; x += kBlock) {
      const int from = first + x;
      tile[x] = from < outputs + kTaps - 1 ? input[c * stride + from] : 0.0f;
    }
    __syncthreads();
    for (int q = 0; q < kTaps; ++q) sum += tile[threadIdx.x + q] * filter[c * taps + q];
  }
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
    smooth<<<blocks, kBlock>>>(input, filter, output, outputs, shape.in_channels,
                               shape.height * shape.width, shape.kernel * shape.kernel);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kBlock, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "second-barrier",
                                               .title = "Who may overwrite the tile?",
                                               .order = 2});

}  // namespace
