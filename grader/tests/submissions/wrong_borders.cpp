// The last row and column of each output are left out, as if the loops ended one too early.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  for_each_output(s, output, [&](int b, int m, int h, int w) {
    const bool border = h + 1 == s.out_height() || w + 1 == s.out_width();
    return border ? 0.0f : convolve_at(s, input, weights, b, m, h, w);
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
