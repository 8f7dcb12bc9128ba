// Asks for more memory than there is.
#include <vector>

#include "grader/tests/submissions/loops.hpp"

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  (void)input, (void)weights;
  for (int i = 0;; ++i) {
    output[0] = std::vector<float>(std::size_t{1} << 30, 1.0f).data()[i];
    static std::vector<std::vector<float>> hoard;
    hoard.emplace_back(std::size_t{1} << 30, static_cast<float>(s.batch));
  }
}

const convlab::CpuStage stage({.id = "baseline", .title = "Test submission"}, conv_forward);

}  // namespace
