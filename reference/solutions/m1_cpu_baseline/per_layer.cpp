// Each layer its own convolution.
//
// Idea     No stage is the fastest for every layer, so choose by the shape. Sizes alone give an
//          estimate of the cost of a vector of 16 outputs: its multiply-adds, those of idle lanes,
//          and moving the data.
// Picture  default network     vectorized   map-lanes   im2col-gemm
//              op1, 4 maps        31 *         120          79          cycles per 16 outputs
//              op2, 16 maps      132           104 *       180
// Cost     three formulas per layer, which take no time.
// Expect   the fastest of its three parts in each layer; a library does the same with many more
//          parts. The constants were fitted on one core of two processors (Zen 5 and a Xeon, both
//          with AVX-512), so another part must be clearly cheaper than vectorized, which stores its
//          outputs in order.
// Run      build/bin/m1 1000 --solution reference --stage per-layer

#include "reference/solutions/m1_cpu_baseline/per_layer.hpp"

#include <algorithm>
#include <array>

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"
#include "reference/solutions/m1_cpu_baseline/im2col_gemm.hpp"
#include "reference/solutions/m1_cpu_baseline/map_lanes.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"
#include "reference/solutions/m1_cpu_baseline/vectorized.hpp"

namespace convlab {
namespace {

// All costs are cycles per vector of outputs. Two multiply-adds start in a cycle.
double arithmetic(const ConvShape& shape) {
  return shape.taps() / 2.0;
}

double vectorized_cost(const ConvShape& shape) {
  // The garbage between rows. A row of whole tiles (usually 5 vectors) has none.
  const int garbage = (shape.kernel - 1) / shape.stride;
  const double useful = shape.out_width() % (5 * kLanes) == 0
                            ? 1.0
                            : 1.0 - 1.0 * garbage / (shape.out_width() + garbage);
  return arithmetic(shape) / (0.9 * useful) + 4.0;
}

double im2col_cost(const ConvShape& shape) {
  // Each map pays its share of the copy; short rows are copied in more pieces.
  const double copy_per_tap = 3.0 + 6.0 * kLanes / shape.out_width();
  return arithmetic(shape) / 0.9 + shape.taps() * copy_per_tap / shape.out_channels;
}

// The estimated gain from which another part replaces vectorized.
constexpr double kClearly = 1.12;

const CpuStage stage({.id = "per-layer",
                      .title = "Each layer its own convolution",
                      .baseline = "vectorized",
                      .order = 5},
                     convolve_per_layer);

}  // namespace

double map_lanes_cost(const ConvShape& shape, double products) {
  // A tile takes the maps of one vector or of two.
  const bool by_rows = map_lanes_go_by_rows(shape);
  const int step = shape.out_channels > kLanes && !by_rows ? 2 * kLanes : kLanes;
  const int lanes = (shape.out_channels + step - 1) / step * step;
  const double useful = static_cast<double>(shape.out_channels) / lanes;
  const double multiply_adds = products * arithmetic(shape);
  if (by_rows) return multiply_adds / (0.97 * useful) + 3.0;
  return multiply_adds / (0.87 * useful) + 7.0;
}

LayerChoice choose_for_layer(const ConvShape& shape) {
  const std::array<LayerChoice, 3> choices = {{
      {vectorized_cost(shape) / kClearly, convolve_pixel_lanes},
      {map_lanes_cost(shape, 1.0), convolve_map_lanes},
      {im2col_cost(shape), convolve_im2col},
  }};
  return *std::min_element(
      choices.begin(), choices.end(),
      [](const LayerChoice& one, const LayerChoice& other) { return one.cost < other.cost; });
}

void convolve_per_layer(const ConvShape& shape, const float* input, const float* weights,
                        float* output) {
  choose_for_layer(shape).convolve(shape, input, weights, output);
}

}  // namespace convlab
