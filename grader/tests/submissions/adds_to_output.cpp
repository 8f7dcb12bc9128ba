// The sum is added to an output that nobody set to zero.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  for_each_output(s, output, [&](int b, int m, int h, int w) {
    const std::int64_t at =
        ((std::int64_t{b} * s.out_channels + m) * s.out_height() + h) * s.out_width() + w;
    return output[at] + convolve_at(s, input, weights, b, m, h, w);
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
