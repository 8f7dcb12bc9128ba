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
// Code     the kernels are in ../per_layer.cuh, because cuda-graph and multi-gpu launch them, too
// Run      build/bin/m4 1000 --stage per-layer --solution reference

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/per_layer.cuh"

namespace {

using convlab::ConvShape;

class PerLayer final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    convlab::per_layer::convolve(output, input, weights, shape);
  }
};

const convlab::LadderStage<PerLayer> stage("per-layer",
                                           "A kernel for each convolution, all sizes known");

}  // namespace
