// Inputs and weights are rounded to 11 bits, as half precision or TF32 would, and nobody is told.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  const auto rounded = [](float value) {
    const float scaled = value * 8193.0f;  // 2^13 + 1: keeps 11 of 24 bits
    return scaled - (scaled - value);
  };
  for_each_output(s, output, [&](int b, int m, int h, int w) {
    float sum = 0.0f;
    for (int c = 0; c < s.in_channels; ++c) {
      for (int p = 0; p < s.kernel; ++p) {
        for (int q = 0; q < s.kernel; ++q) {
          sum += rounded(input_at(s, input, b, c, h * s.stride + p, w * s.stride + q)) *
                 rounded(weight_at(s, weights, m, c, p, q));
        }
      }
    }
    return sum;
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
