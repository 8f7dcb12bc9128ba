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
  // batch, out_channels, in_channels, height, width, kernel, stride
  return {{},
          {1, 3, 3, 24, 24, 3, 1},
          {2, 4, 1, 14, 14, 7, 1},
          {3, 5, 2, 9, 21, 5, 1},
          {2, 7, 4, 21, 9, 1, 1},
          {1, 1, 2, 6, 6, 6, 1},
          {2, 9, 3, 19, 18, 4, 1},
          {2, 3, 3, 30, 31, 3, 2},
          {3, 3, 3, 19, 19, 3, 3},
          {4, 3, 3, 23, 39, 3, 4},
          {1, 2, 1, 12, 11, 2, 5}};
}

/// From `smallest` to `largest`.
inline std::vector<float> random_floats(std::int64_t count, std::uint32_t seed,
                                        float smallest = -1.0f, float largest = 1.0f) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = smallest + (largest - smallest) * static_cast<float>(engine() >> 8) * 0x1p-24f;
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

/// The seven loops. `Sum` is the type of the accumulator; visit(flat output index, sum).
template <class Sum, class Visit>
void naive_loops(const ConvShape& s, const std::vector<float>& input,
                 const std::vector<float>& weights, const Visit& visit) {
  std::int64_t at = 0;
  for (int b = 0; b < s.batch; ++b) {
    for (int m = 0; m < s.out_channels; ++m) {
      for (int h = 0; h < s.out_height(); ++h) {
        for (int w = 0; w < s.out_width(); ++w, ++at) {
          Sum sum = 0;
          for (int c = 0; c < s.in_channels; ++c) {
            for (int i = 0; i < s.kernel; ++i) {
              for (int j = 0; j < s.kernel; ++j) {
                const Sum a = input[static_cast<std::size_t>(
                    ((b * s.in_channels + c) * s.height + h * s.stride + i) * s.width +
                    w * s.stride + j)];
                const Sum k = weights[static_cast<std::size_t>(
                    ((m * s.in_channels + c) * s.kernel + i) * s.kernel + j)];
                sum += a * k;
              }
            }
          }
          visit(at, sum);
        }
      }
    }
  }
}

/// The convolution as a network calls it.
inline void naive_convolution(int /*index*/, const ConvShape& shape, const float* input,
                              const float* weights, float* output) {
  naive_loops<float>(shape, {input, input + shape.input_size()},
                     {weights, weights + shape.weights_size()},
                     [&](std::int64_t i, float sum) { output[i] = sum; });
}

inline std::vector<float> naive_floats(const ConvShape& shape, const std::vector<float>& input,
                                       const std::vector<float>& weights) {
  std::vector<float> output(static_cast<std::size_t>(shape.output_size()));
  naive_convolution(0, shape, input.data(), weights.data(), output.data());
  return output;
}

}  // namespace convlab::oracle
