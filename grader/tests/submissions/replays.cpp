// Computes the first call, and for the same shape hands out that answer again.
#include <algorithm>
#include <vector>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  static std::vector<float> kept;
  static convlab::ConvShape kept_shape{.batch = -1};
  if (!(kept_shape == s)) {
    kept.resize(static_cast<std::size_t>(s.output_size()));
    for_each_output(s, kept.data(), [&](int b, int m, int h, int w) {
      return convolve_at(s, input, weights, b, m, h, w);
    });
    kept_shape = s;
  }
  std::copy(kept.begin(), kept.end(), output);
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
