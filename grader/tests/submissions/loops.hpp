#pragma once

#include <cstdint>

#include "common/milestone/cpu_stage.hpp"
#include "common/tensor/conv_shape.hpp"

/// The loops of an honest student, with a place for one mistake: element(shape, b, m, h, w, input,
/// weights) yields one output.
template <class Element>
void for_each_output(const convlab::ConvShape& s, float* output, const Element& element) {
#pragma omp parallel for schedule(static)
  for (int b = 0; b < s.batch; ++b) {
    for (int m = 0; m < s.out_channels; ++m) {
      for (int h = 0; h < s.out_height(); ++h) {
        for (int w = 0; w < s.out_width(); ++w) {
          const std::int64_t at =
              ((std::int64_t{b} * s.out_channels + m) * s.out_height() + h) * s.out_width() + w;
          output[at] = element(b, m, h, w);
        }
      }
    }
  }
}

/// The input element (b, c, row, column).
inline float input_at(const convlab::ConvShape& s, const float* input, int b, int c, int row,
                      int column) {
  return input[((std::int64_t{b} * s.in_channels + c) * s.height + row) * s.width + column];
}

/// The weight (m, c, p, q).
inline float weight_at(const convlab::ConvShape& s, const float* weights, int m, int c, int p,
                       int q) {
  return weights[((std::int64_t{m} * s.in_channels + c) * s.kernel + p) * s.kernel + q];
}

/// One right output element.
inline float convolve_at(const convlab::ConvShape& s, const float* input, const float* weights,
                         int b, int m, int h, int w) {
  float sum = 0.0f;
  for (int c = 0; c < s.in_channels; ++c) {
    for (int p = 0; p < s.kernel; ++p) {
      for (int q = 0; q < s.kernel; ++q) {
        sum += input_at(s, input, b, c, h * s.stride + p, w * s.stride + q) *
               weight_at(s, weights, m, c, p, q);
      }
    }
  }
  return sum;
}
