// One kernel for each convolution, with all sizes known at compile time.
//
// Idea     The two convolutions of the network need different tiles: 1 channel, 4 maps and 80×80
//          outputs, or 4 channels, 16 maps and 34×34. If the compiler knows every size, it turns
//          divisions into multiplications and addresses into constants, and the tiles can divide
//          the output evenly. A thread keeps Rows × 4 sums: a loaded input serves up to 7 rows and
//          4 maps.
// Picture  one thread: a column of the window is loaded, then used for all rows at once
//
//              q ↓
//              i     7 + Rows - 1 inputs       Rows outputs of one column,
//              i     of this column       →    for 4 maps: 4 · Rows sums
//              i
//              …
//
// Cost     first convolution, 8 rows: 98 input loads for 1 568 multiply-adds, 16 for each load; the
//          weights cost none, they are constants of the instructions.
//          second, 17 rows: 644 input loads and 196 loads of four weights for 13 328, 16 for each.
// Expect   both convolutions near the arithmetic limit; the first also sees the memory's.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage per-layer
//          build/bin/grader check m4 --stage per-layer
// Read     docs/ladder/per-layer.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// The kernel for one set of sizes, which are template parameters. Fill in: about 40 lines.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class PerLayer : public convlab::DeviceConvolution {
  /// Chooses the kernel by the shape: one for each convolution of the network, and a general one.
  /// About 15 lines; all pointers are to device memory.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/per_layer.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<PerLayer> stage("per-layer", "Your kernels, one for each convolution");

}  // namespace
