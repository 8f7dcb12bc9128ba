// Ends the process with success before there is anything to compare.
#include <unistd.h>

#include <cstdio>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  (void)s, (void)input, (void)weights, (void)output;
  std::printf("PASS\n");
  std::fflush(stdout);
  ::_exit(0);
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
