// The convolution layer on a GPU.
//
// Idea     Every output is a sum of its own, so every output gets a thread of its own: the four
//          outer loops of milestone 1 become a grid of threads, the three inner ones stay. A GPU
//          has its own memory, so the arrays travel there first and the result travels back.
// Picture  one block of 16×16 threads makes 16×16 neighbouring outputs of one map of one image:
//
//              threadIdx.x →                     grid.x   tiles of one map
//              ┌────────────────┐                grid.y   maps            (out_channels)
//            t │ thread = output│                grid.z   images          (batch, up to 65 535)
//            ↓ │ (h, w) of (b,m)│
//              └────────────────┘                If a map's size is no multiple of 16, some
//                                                threads have no output: they write nothing.
// Cost     in_channels · kernel² multiply-adds and twice as many loads for each output. While a
//          load is under way the GPU runs other threads, so give it many.
// Expect   a hundred to a thousand times faster than milestone 1 in op time; in layer time much
//          less, because copying takes longer than computing. Both are shown.
// Run      cmake --build --preset lab --target m2 && build/bin/m2 100
//          build/bin/grader check m2

#include <cuda_runtime.h>

#include <cstddef>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

/// Forward convolution, no padding: one thread makes one output. Fill in: about 20 lines.
///
/// @param shape    every size, as in milestone 1; also out_height() and out_width()
/// @param input    batch × in_channels × height × width, in device memory
/// @param weights  out_channels × in_channels × kernel × kernel, in device memory
/// @param output   batch × out_channels × out_height × out_width, in device memory
__global__ void conv_forward_kernel(ConvShape shape, const float* input, const float* weights,
                                    float* output) {}

/// The three phases of the layer. The program calls prolog, convolve and epilog in this order;
/// convolve may be called several times, to measure it.
class GpuConvolution : public convlab::Convolution {
 public:
  /// Allocates device memory for the three arrays (cudaMalloc) and copies input and weights there
  /// (cudaMemcpy). `input`, `weights` and `output` are arrays of the host. Fill in: about 8 lines.
  ///
  /// shape.input_size(), weights_size() and output_size() count the elements of the arrays. Put
  /// every CUDA call into CONVLAB_CUDA_CHECK( … ): without it a failed call goes unnoticed.
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    shape_ = shape;
    host_output_ = output;
    // Your code replaces this line.
    convlab::not_implemented("milestones/m2_gpu_baseline/conv_forward.cu");
  }

  /// Launches the kernel. This, and only this, is the op time. Fill in: about 4 lines.
  void convolve() override {
    const dim3 block(16, 16);
    const dim3 grid(1, 1, 1);  // too small: how many blocks cover all outputs?
    conv_forward_kernel<<<grid, block>>>(shape_, device_input_, device_weights_, device_output_);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
  }

  /// Copies the result to host_output_ and frees the device memory. Fill in: about 4 lines.
  void epilog() override {}

 private:
  ConvShape shape_;
  float* host_output_ = nullptr;
  float* device_input_ = nullptr;
  float* device_weights_ = nullptr;
  float* device_output_ = nullptr;
};

// Tells the program about your class; leave it as it is.
const convlab::ConvolutionStage<GpuConvolution> stage({.id = "baseline",
                                                       .title = "Your first kernel"});

}  // namespace
