// Asks for more memory than there is, as unrolling all images at once may.
#include <vector>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  const std::vector<float> unrolled(std::size_t{1} << 42, input[0] * weights[0]);
  output[0] = unrolled[static_cast<std::size_t>(s.batch)];
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
