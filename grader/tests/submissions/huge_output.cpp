// Prints without end.
#include <cstdio>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  (void)s, (void)input, (void)weights, (void)output;
  while (true) std::puts("Op Time: 0.001 ms, PASS PASS PASS PASS");
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
