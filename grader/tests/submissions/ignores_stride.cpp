// The window moves one pixel at a time, whatever the stride is.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  for_each_output(s, output, [&](int b, int m, int h, int w) {
    convlab::ConvShape one = s;
    one.stride = 1;
    return convolve_at(one, input, weights, b, m, h, w);
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
