// A cache in registers: the lanes of a warp exchange their inputs.
//
// Idea     A warp that computes neighbouring columns of a row reads each input K times, once for
//          each lane that has it in its window. Let every lane load one input of the row and keep
//          it in a register; the K - 1 neighbours that need it get it by a warp shuffle, without a
//          load.
// Picture  one row, K = 3: lane i holds input i, and computes output i
//
//              register    i0 i1 i2 i3 … i31
//              q = 0       i0 i1 i2 i3 … i31      its own
//              q = 1       i1 i2 i3 i4 …  -       __shfl_down_sync(…, 1)
//              q = 2       i2 i3 i4 i5 …  -       __shfl_down_sync(…, 2)
//
//          The last K - 1 lanes have no complete window: they provide inputs and compute nothing.
// Cost     restrict-unroll loads K inputs of a row for each thread; here it is one load and K - 1
//          shuffles. A shuffle uses the same pipeline as a load from shared memory, so this
//          pipeline gets as many instructions as before. Of 32 lanes 26 compute at K = 7, and 34
//          outputs take two warps: a third of the multiply-adds of the second convolution is
//          wasted.
// Expect   slower than restrict-unroll. The idea pays if the saved loads take longer than those
//          from the first-level cache, or if few lanes are lost at the ends.
// Run      cmake --build --preset lab && build/bin/m4 100 --stage shuffle-cache
//          build/bin/grader check m4 --stage shuffle-cache
// Read     docs/ladder/shuffle-cache.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A warp computes a segment of neighbouring columns. Fill in: about 40 lines. All 32 lanes must
/// make each __shfl_down_sync together, also those that compute nothing.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class ShuffleCache : public convlab::DeviceConvolution {
  /// Launches the kernel, or a general one if the stride is not 1: about 12 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/shuffle_cache.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<ShuffleCache> stage("shuffle-cache", "Your inputs, handed on");

}  // namespace
