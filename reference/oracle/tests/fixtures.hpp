#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab::oracle {

/// Shapes that exercise every edge of the blocking: K from 1 to 7, non-square images, strides,
/// sizes one off a vector or a block of maps, an output of one pixel.
inline std::vector<ConvShape> test_shapes() {
  return {
      {},
      {.batch = 1, .out_channels = 3, .in_channels = 3, .height = 24, .width = 24, .kernel = 3},
      {.batch = 2, .out_channels = 4, .in_channels = 1, .height = 14, .width = 14, .kernel = 7},
      {.batch = 3, .out_channels = 5, .in_channels = 2, .height = 9, .width = 21, .kernel = 5},
      {.batch = 2, .out_channels = 7, .in_channels = 4, .height = 21, .width = 9, .kernel = 1},
      {.batch = 1, .out_channels = 1, .in_channels = 2, .height = 6, .width = 6, .kernel = 6},
      {.batch = 2, .out_channels = 9, .in_channels = 3, .height = 19, .width = 18, .kernel = 4},
      {.batch = 2,
       .out_channels = 3,
       .in_channels = 3,
       .height = 30,
       .width = 31,
       .kernel = 3,
       .stride = 2},
      {.batch = 3,
       .out_channels = 3,
       .in_channels = 3,
       .height = 19,
       .width = 19,
       .kernel = 3,
       .stride = 3},
      {.batch = 4,
       .out_channels = 3,
       .in_channels = 3,
       .height = 23,
       .width = 39,
       .kernel = 3,
       .stride = 4},
      {.batch = 1,
       .out_channels = 2,
       .in_channels = 1,
       .height = 12,
       .width = 11,
       .kernel = 2,
       .stride = 5},
  };
}

inline std::vector<float> random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(engine() >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return values;
}

/// Whole numbers from -range to range.
inline std::vector<float> random_integers(std::int64_t count, int range, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  const auto span = static_cast<unsigned>(2 * range + 1);
  for (float& value : values) value = static_cast<float>(static_cast<int>(engine() % span) - range);
  return values;
}

/// The seven loops. `Sum` is the type of the accumulator; visit(flat output index, sum, magnitude).
template <class Sum, class Visit>
void naive_loops(const ConvShape& s, const std::vector<float>& input,
                 const std::vector<float>& weights, const Visit& visit) {
  std::int64_t at = 0;
  for (int b = 0; b < s.batch; ++b) {
    for (int m = 0; m < s.out_channels; ++m) {
      for (int h = 0; h < s.out_height(); ++h) {
        for (int w = 0; w < s.out_width(); ++w, ++at) {
          Sum sum = 0;
          Sum magnitude = 0;
          for (int c = 0; c < s.in_channels; ++c) {
            for (int i = 0; i < s.kernel; ++i) {
              for (int j = 0; j < s.kernel; ++j) {
                const Sum a = input[static_cast<std::size_t>(
                    ((b * s.in_channels + c) * s.height + h * s.stride + i) * s.width +
                    w * s.stride + j)];
                const Sum k = weights[static_cast<std::size_t>(
                    ((m * s.in_channels + c) * s.kernel + i) * s.kernel + j)];
                sum += a * k;
                magnitude += std::fabs(a * k);
              }
            }
          }
          visit(at, sum, magnitude);
        }
      }
    }
  }
}

inline std::vector<float> naive_floats(const ConvShape& shape, const std::vector<float>& input,
                                       const std::vector<float>& weights) {
  std::vector<float> output(static_cast<std::size_t>(shape.output_size()));
  naive_loops<float>(shape, input, weights, [&](std::int64_t i, float sum, float) {
    output[static_cast<std::size_t>(i)] = sum;
  });
  return output;
}

}  // namespace convlab::oracle
