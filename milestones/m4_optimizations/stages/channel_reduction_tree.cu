// The input channels in parallel, their sums added by a tree.
//
// Idea     The baseline has a thread for every output. A sum over C channels allows more threads:
//          give each channel its own thread, and add the partial sums in shared memory.
// Picture  a block of 256 threads, C = 4: 64 pixels × 4 slices of channels
//
//              slice 0   a a a a …        a+c  a+c …        a+c+b+d …  → output
//              slice 1   b b b b …   →    b+d  b+d …   →
//              slice 2   c c c c …
//              slice 3   d d d d …        log2(4) = 2 steps, a barrier before each
//
// Cost     the same loads and multiply-adds as the baseline. In addition, for each output and slice
//          a store and a load in shared memory, and log2(slices) barriers.
// Expect   no gain at large batches, which have enough threads anyway: 18.5 million outputs at
//          1 000 images. A gain if the outputs are too few to fill the GPU. With one channel it is
//          the baseline.
// Run      cmake --build --preset lab --target m4
//          build/bin/m4 100 --stage channel-reduction-tree
//          build/bin/grader check m4 --stage channel-reduction-tree
// Read     docs/ladder/channel-reduction-tree.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A block has (slices of channels, pixels) threads. Fill in: about 35 lines.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class ChannelReductionTree : public convlab::DeviceConvolution {
  /// Chooses the slices, a power of two, and launches: about 8 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/channel_reduction_tree.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<ChannelReductionTree> stage("channel-reduction-tree", "Your tree sums");

}  // namespace
