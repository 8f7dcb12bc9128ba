// More work for each thread: 4 maps × 4 pixels.
//
// Idea     The baseline's threads load the same input once for each map, and the same weight once
//          for each pixel. Let one thread do the work of 16: a loaded input serves 4 maps, a weight
//          4 pixels. The loops and the memory stay the same; there is no tile.
// Picture  one thread, one tap:      pixel 0  pixel 1  pixel 2  pixel 3     4 input loads
//                            map 0     S        S        S        S
//                            map 1     S        S        S        S         16 multiply-adds
//                            …         4 weight loads
//
// Cost     8 loads for 16 multiply-adds; the baseline needs 32 loads. There are 16 times fewer
//          threads, so a small batch may leave multiprocessors idle.
// Expect   up to four times as fast as the baseline at large batches, if loads are its limit.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage thread-coarsening
//          build/bin/grader check m4 --stage thread-coarsening
// Read     docs/ladder/thread-coarsening.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A thread computes Maps × Pixels outputs. Fill in: about 35 lines, beginning with your kernel of
/// milestone 2.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class ThreadCoarsening : public convlab::DeviceConvolution {
  /// Launches the kernel on fewer threads; all pointers are to device memory. Fill in: about 6
  /// lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/thread_coarsening.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<ThreadCoarsening> stage("thread-coarsening", "Your coarser threads");

}  // namespace
