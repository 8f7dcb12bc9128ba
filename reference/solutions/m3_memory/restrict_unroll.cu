// Known sizes, unrolled loops, several outputs in the registers of a thread.
//
// Idea     Fewer loads for each multiply-add. A thread computes kMaps maps × kRows rows of one
//          column: a loaded input serves all these maps and up to kRows rows, a weight serves kRows
//          rows. If the compiler knows the kernel size, it unrolls both loops over the window, the
//          sums stay in registers, and an arithmetic instruction can read a weight from its
//          constant address. __restrict__ promises that the output overlaps nothing, so that loads
//          may move ahead of stores.
// Picture  one thread, K = 7, kRows = 4:
//
//              input column strip            outputs
//              7 wide, 7 + 4 - 1 high   →    4 rows of column w, for each of 4 maps
//
// Cost     for each channel (K + 3)·K input loads for 16·K·K multiply-adds: 11 per load at K = 7;
//          the baseline makes one half.
// Expect   the first stage near the arithmetic limit.
// Code     the kernel is in register_strips.cuh, because the stage half runs it, too
// Run      build/bin/m3 1000 --stage restrict-unroll --solution reference

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m3_memory/register_strips.cuh"

namespace {

namespace register_strips = convlab::register_strips;

class RestrictUnroll final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    register_strips::convolve<register_strips::FloatArithmetic>(output, input, weights, shape);
  }
};

const convlab::ConvolutionStage<RestrictUnroll> stage({
    .id = "restrict-unroll",
    .title = "Unrolled, 4×4 outputs in registers",
    .baseline = "tiled-constant",
    .order = 40,
});

}  // namespace
