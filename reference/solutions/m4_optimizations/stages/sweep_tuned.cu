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
// Expect   faster than thread-coarsening, with different points for the two convolutions: all maps
//          of the layer, and as many pixels as registers allow.
// Run      build/bin/grader sweep sweep-tuned --solution reference
//          build/bin/m4 1000 --stage sweep-tuned --solution reference
//          CONVLAB_SWEEP_POINT=8,2,128 build/bin/m4 1000 --stage sweep-tuned --solution reference
//          (that point, as maps,pixels,block, instead of the best one)

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/base/error.hpp"
#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/coarsened.cuh"

namespace {

using convlab::ConvShape;

struct Point {
  int maps;
  int pixels;
  int block;
};

using Launch = void (*)(float*, const float*, const float*, const ConvShape&, int);

// The kernel for these numbers of maps and pixels; null if there is none.
Launch launch_of(int maps, int pixels) {
  using convlab::coarsened::convolve;
  static const struct {
    int maps;
    int pixels;
    Launch launch;
  } kKernels[] = {
      {1, 1, convolve<1, 1>},   {1, 2, convolve<1, 2>},   {1, 4, convolve<1, 4>},
      {1, 8, convolve<1, 8>},   {2, 1, convolve<2, 1>},   {2, 2, convolve<2, 2>},
      {2, 4, convolve<2, 4>},   {2, 8, convolve<2, 8>},   {4, 1, convolve<4, 1>},
      {4, 2, convolve<4, 2>},   {4, 4, convolve<4, 4>},   {4, 8, convolve<4, 8>},
      {8, 1, convolve<8, 1>},   {8, 2, convolve<8, 2>},   {8, 4, convolve<8, 4>},
      {8, 8, convolve<8, 8>},   {16, 1, convolve<16, 1>}, {16, 2, convolve<16, 2>},
      {16, 4, convolve<16, 4>},
  };
  for (const auto& kernel : kKernels) {
    if (kernel.maps == maps && kernel.pixels == pixels) return kernel.launch;
  }
  return nullptr;
}

// The best points of `grader sweep sweep-tuned` on an H200 at 10 000 images. The count had
// predicted {4, 8, 128} and {16, 4, 128}, which are 18 and 20 % slower.
Point best_point(const ConvShape& shape) {
  if (shape.out_channels <= 4) return {4, 4, 64};
  return {16, 4, 64};
}

// CONVLAB_SWEEP_POINT if it is set, otherwise the best point.
// @throws UsageError if it is not a point
Point chosen_point(const ConvShape& shape) {
  const char* text = std::getenv("CONVLAB_SWEEP_POINT");
  if (text == nullptr) return best_point(shape);
  Point point{};
  char rest = 0;
  const int read = std::sscanf(text, "%d,%d,%d%c", &point.maps, &point.pixels, &point.block, &rest);
  const bool is_block = point.block >= 32 && point.block <= 1024 && point.block % 32 == 0;
  if (read != 3 || !is_block || launch_of(point.maps, point.pixels) == nullptr) {
    throw convlab::UsageError(std::string("CONVLAB_SWEEP_POINT is '") + text +
                              "'; give maps,pixels,block such as 4,8,128: maps 1, 2, 4, 8 or 16, "
                              "pixels 1, 2, 4 or 8 (at most 64 together), block a multiple of 32.");
  }
  return point;
}

class SweepTuned final : public convlab::DeviceConvolution {
  void prepare() override { point_ = chosen_point(shape()); }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    launch_of(point_.maps, point_.pixels)(output, input, weights, shape, point_.block);
  }

  Point point_{};
};

const convlab::LadderStage<SweepTuned> stage("sweep-tuned", "Coarser threads, the best of a sweep");

}  // namespace
