// The input channels in parallel, their sums added by atomics.
//
// Idea     Each channel's part of an output gets its own thread, as in channel-reduction-tree, but
//          the threads need not be in one block: each adds its part to the output with an atomic
//          operation, which the second-level cache performs.
// Picture  grid.y counts maps × channels:
//
//              block (…, m · C + c, b):  output[b][m][…]  +=  part of channel c
//
// Cost     C atomic additions for each output instead of one store. The output must be zero first,
//          so it is written once more: 1 GB in the first convolution at 10 000 images.
// Expect   slower than the tree and than the baseline at large batches. The order of the additions
//          differs from run to run, and so does the last bit of the result. With one channel a
//          plain store is enough.
// Run      cmake --build --preset lab --target m4
//          build/bin/m4 100 --stage channel-reduction-atomics
//          build/bin/grader check m4 --stage channel-reduction-atomics
// Read     docs/ladder/channel-reduction-atomics.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A thread adds the part of one channel to one output. Fill in: about 25 lines.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class ChannelReductionAtomics : public convlab::DeviceConvolution {
  /// Clears the output, then launches: about 8 lines. Both belong here: convolve may be called
  /// again.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/channel_reduction_atomics.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<ChannelReductionAtomics> stage("channel-reduction-atomics",
                                                          "Your atomic sums");

}  // namespace
