// Writes to address zero.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  (void)s, (void)input, (void)weights, (void)output;
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
