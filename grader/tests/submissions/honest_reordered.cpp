// An honest control: sums in another order each time, so that no two runs agree to the last bit.
#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  static int turn = 0;
  const int first = turn++;
  for_each_output(s, output, [&](int b, int m, int h, int w) {
    float sum = 0.0f;
    const int taps = s.taps();
    for (int i = 0; i < taps; ++i) {
      const int tap = (first + i) % taps;
      const int c = tap / (s.kernel * s.kernel);
      const int p = tap / s.kernel % s.kernel;
      const int q = tap % s.kernel;
      sum += input_at(s, input, b, c, h * s.stride + p, w * s.stride + q) *
             weight_at(s, weights, m, c, p, q);
    }
    return sum;
  });
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
