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
// Run      build/bin/m4 1000 --stage thread-coarsening --solution reference

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/coarsened.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 128;
constexpr int kMaps = 4;
constexpr int kPixels = 4;

class ThreadCoarsening final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    convlab::coarsened::convolve<kMaps, kPixels>(output, input, weights, shape, kBlockSize);
  }
};

const convlab::LadderStage<ThreadCoarsening> stage("thread-coarsening",
                                                   "Coarser threads: 4 maps × 4 pixels each");

}  // namespace
