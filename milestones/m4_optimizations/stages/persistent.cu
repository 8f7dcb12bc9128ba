// As many blocks as fit; each convolves image after image.
//
// Idea     An ordinary launch starts a block for every tile: at 10 000 images tens of thousands.
//          Each loads the weights again, computes its place and ends. Start only as many blocks as
//          the multiprocessors hold at once. A block loads the weights into shared memory once,
//          then convolves one image after the other.
// Picture  3 blocks, 8 images:
//
//              block 0   weights | image 0 | image 3 | image 6
//              block 1   weights | image 1 | image 4 | image 7
//              block 2   weights | image 2 | image 5 |
//
//          shared memory of a block: the whole image (29 or 26 KB) and all weights (0.8 or 12.5 KB)
// Cost     each input element leaves global memory exactly once, and so does each weight for a
//          block. Inside, a thread reads 14 inputs and 7 times 4 weights for 224 multiply-adds.
// Expect   about as fast as per-layer. But a block computes nothing while it loads. Other blocks of
//          the multiprocessor may fill the gap; double-buffered does.
// Run      cmake --build --preset lab && build/bin/m4 100 --stage persistent
//          build/bin/grader check m4 --stage persistent
// Read     docs/ladder/persistent.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Each block loads the weights once and then convolves images b = blockIdx.x, b + gridDim.x, … in
/// its shared memory. Fill in: about 50 lines.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class Persistent : public convlab::DeviceConvolution {
  /// Asks how many blocks fit on the GPU at once and launches that many: about 15 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/persistent.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Persistent> stage("persistent", "Your blocks, each for many images");

}  // namespace
