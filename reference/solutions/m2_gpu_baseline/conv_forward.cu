// The GPU baseline: one thread computes one output.
//
// Idea     Four of the seven loops of milestone 1 are independent: image, map, row, column. Give
//          every combination its own thread; the three loops over the window stay.
// Picture  A block is 256 neighbouring outputs of one map, row after row. grid.x covers the outputs
//          of a map, grid.y the maps, grid.z the images:
//
//              blockIdx.z = image b      blockIdx.y = map m
//              blockIdx.x · 256 + threadIdx.x = h · out_width + w
//
// Cost     each thread loads taps inputs and taps weights from global memory: two loads for one
//          multiply-add. Neighbouring threads load neighbouring inputs (coalesced) and the same
//          weight (broadcast); the caches serve what they share, not DRAM.
// Expect   the load units are the limit, long before memory and arithmetic.
// Run      build/bin/m2 1000 --solution reference
//          build/bin/grader check m2 --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 256;
// The hardware's limit on grid.y and grid.z. A larger launch fails, so a block may process several
// images.
constexpr int kMaxGridZ = 65535;

__global__ void conv_forward(float* output, const float* input, const float* weights,
                             ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const int pixel = blockIdx.x * kBlockSize + threadIdx.x;
  if (pixel >= pixels) return;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const int m = blockIdx.y;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    // Offsets of whole images need 64 bits, offsets inside an image do not. Moving pointers saves
    // index arithmetic: the load units are the limit, so every other instruction counts.
    const float* window =
        input + b * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;
    const float* weight = weights + m * shape.taps();
    float sum = 0.0f;
    for (int c = 0; c < shape.in_channels; ++c) {
      const float* row = window;
      for (int p = 0; p < shape.kernel; ++p) {
        for (int q = 0; q < shape.kernel; ++q) sum += row[q] * weight[q];
        row += shape.width;
        weight += shape.kernel;
      }
      window += shape.height * shape.width;
    }
    output[b * shape.output_image_size() + m * pixels + pixel] = sum;
  }
}

class GpuBaseline final : public convlab::Convolution {
 public:
  ~GpuBaseline() override { free_all(); }

  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    shape_ = shape;
    host_output_ = output;
    const std::size_t input_bytes = shape.input_size() * sizeof(float);
    const std::size_t weights_bytes = shape.weights_size() * sizeof(float);
    CONVLAB_CUDA_CHECK(cudaMalloc(&input_, input_bytes));
    CONVLAB_CUDA_CHECK(cudaMalloc(&weights_, weights_bytes));
    CONVLAB_CUDA_CHECK(cudaMalloc(&output_, shape.output_size() * sizeof(float)));
    CONVLAB_CUDA_CHECK(cudaMemcpy(input_, input, input_bytes, cudaMemcpyHostToDevice));
    CONVLAB_CUDA_CHECK(cudaMemcpy(weights_, weights, weights_bytes, cudaMemcpyHostToDevice));
  }

  void convolve() override {
    const int pixels = shape_.out_height() * shape_.out_width();
    const dim3 grid((pixels + kBlockSize - 1) / kBlockSize, shape_.out_channels,
                    std::min(shape_.batch, kMaxGridZ));
    conv_forward<<<grid, kBlockSize>>>(output_, input_, weights_, shape_);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
  }

  void epilog() override {
    CONVLAB_CUDA_CHECK(cudaMemcpy(host_output_, output_, shape_.output_size() * sizeof(float),
                                  cudaMemcpyDeviceToHost));
    free_all();
  }

 private:
  void free_all() {
    for (float** array : {&input_, &weights_, &output_}) {
      cudaFree(*array);
      *array = nullptr;
    }
  }

  ConvShape shape_;
  float* host_output_ = nullptr;
  float* input_ = nullptr;
  float* weights_ = nullptr;
  float* output_ = nullptr;
};

const convlab::ConvolutionStage<GpuBaseline> stage({
    .id = "baseline",
    .title = "GPU baseline: one thread, one output",
});

}  // namespace
