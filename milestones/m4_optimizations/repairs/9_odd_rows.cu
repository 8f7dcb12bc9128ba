// Repair 9 of 10: four numbers at once
//
// output[i] = weights[0] · input[i] for 3 rows of 1001 numbers: a block for each row, four numbers
// in each load.
//
// As it is, the check shows what goes wrong and asks for the cause. Name it, then mend it:
//   build/bin/grader check m4 --stage odd-rows
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kThreads = 64;

__global__ void scale(float* output, const float* input, const float* weights, int width) {
  const float* row = input + blockIdx.x * width;
  float* to = output + blockIdx.x * width;
  const int fours = width / 4;
  for (int k = threadIdx.x; k < fours; k += kThreads) {
    const float4 four = reinterpret_cast<const float4*>(row)[k];
    to[4 * k] = weights[0] * four.x;
    to[4 * k + 1] = weights[0] * four.y;
    to[4 * k + 2] = weights[0] * four.z;
    to[4 * k + 3] = weights[0] * four.w;
  }
  for (int k = 4 * fours + threadIdx.x; k < width; k += kThreads) to[k] = weights[0] * row[k];
}

class Repair final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    scale<<<shape.height, kThreads>>>(output, input, weights, shape.width);
    CONVLAB_CUDA_CHECK_LAUNCH(shape.height, kThreads, 0);
  }
};

const convlab::ConvolutionStage<Repair> stage({.id = "odd-rows",
                                               .title = "Four numbers at once",
                                               .order = 9});

}  // namespace
