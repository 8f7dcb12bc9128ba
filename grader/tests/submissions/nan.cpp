// Every output is NaN: a grader that asks whether the error is above a bound lets it pass.
#include <cmath>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  (void)input, (void)weights;
  for_each_output(s, output, [&](int, int, int, int) { return std::nanf(""); });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
