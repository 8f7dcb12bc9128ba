// The image is missing from the index of the input.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  for_each_output(s, output, [&](int, int m, int h, int w) {
    return convolve_at(s, input, weights, 0, m, h, w);
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
