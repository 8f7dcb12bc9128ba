// An honest control: right, and prints a little each time.
#include <cstdio>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  std::printf("batch %d\n", s.batch);
  for_each_output(s, output, [&](int b, int m, int h, int w) {
    return convolve_at(s, input, weights, b, m, h, w);
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
