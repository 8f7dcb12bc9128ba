// The best point of a parameter sweep, for each convolution.
//
// Idea     thread-coarsening guessed 4 maps, 4 pixels and blocks of 128 threads. More maps or
//          pixels mean fewer loads for each multiply-add, but more registers, fewer warps, and
//          threads without work at the edges. Nobody can compute the best point: try every point on
//          the machine and keep the best one for each convolution.
// Picture  the points: maps of a thread × pixels of a thread × threads of a block
//
//              maps     1  2  4  8  16          (16 only where there are as many)
//              pixels   1  2  4  8              maps · pixels at most 64: the sums must fit
//              block    64  128  256
//
// Cost     loads for each multiply-add: (maps + pixels) / (maps · pixels), from 2 down to a
//          quarter. The sweep itself takes a few hundred calls, once for each GPU model.
// Expect   faster than thread-coarsening, with different points for the two convolutions: few maps
//          and many pixels for the first, many maps for the second.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage sweep-tuned
//          build/bin/grader check m4 --stage sweep-tuned
// Read     docs/ladder/sweep-tuned.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// The kernel of thread-coarsening as a template, so that you can try many points. Fill in: about
/// 35 lines, nearly all of them from there.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class SweepTuned : public convlab::DeviceConvolution {
  /// Launches the best point for this shape, or the one that the environment variable
  /// CONVLAB_SWEEP_POINT names while you sweep: about 20 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/sweep_tuned.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<SweepTuned> stage("sweep-tuned", "Your best point of a sweep");

}  // namespace
