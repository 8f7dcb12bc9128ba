// The last image is left out when there are more than two.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  convlab::ConvShape shorter = s;
  if (s.batch > 2) --shorter.batch;
  for_each_output(shorter, output, [&](int b, int m, int h, int w) {
    return convolve_at(s, input, weights, b, m, h, w);
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
