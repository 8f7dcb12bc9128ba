// The batch split over all GPUs of the machine.
//
// Idea     No image needs another one. Give each of N GPUs an N-th of the batch and a copy of the
//          weights; the GPUs exchange nothing.
// Picture  2 GPUs, 5 images:    GPU 0   weights | images 0 1 2
//                               GPU 1   weights | images 3 4
//
// Cost     one host thread for each GPU, so that their copies run at the same time; each GPU has
//          its own path to host memory, if memory and threads of the host keep up. Launching on N
//          GPUs and waiting for each takes some 10 microseconds.
// Expect   op time divided by the number of GPUs at large batches, a loss at small ones; layer time
//          falls by less, because all GPUs share the host's memory. With one GPU the stage is
//          per-layer.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage multi-gpu
//          build/bin/grader check m4 --stage multi-gpu
// Read     docs/ladder/multi-gpu.md

#include <cuda_runtime.h>

#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

class MultiGpu : public convlab::Convolution {
 public:
  /// Gives each GPU its images and all weights. Fill in: about 25 lines. cudaGetDeviceCount gives
  /// their number; cudaSetDevice chooses the GPU for the following calls.
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/multi_gpu.cu");
  }

  /// Launches on every GPU, then waits for all of them: about 12 lines. The current device is the
  /// same at the end as at the beginning.
  void convolve() override {}

  /// Copies every part back and frees: about 10 lines.
  void epilog() override {}

 private:
  /// The part of one GPU.
  struct Part {
    int device = 0;
    ConvShape shape;  // batch: its images
    convlab::DeviceBuffer<float> input;
    convlab::DeviceBuffer<float> weights;
    convlab::DeviceBuffer<float> output;
  };
  std::vector<Part> parts_;
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<MultiGpu> stage("multi-gpu", "Your batch split over all GPUs");

}  // namespace
