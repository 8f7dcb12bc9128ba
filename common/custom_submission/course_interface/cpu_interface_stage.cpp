// Makes a stage of a file that implements the course's conv_forward_cpu.
//
// As in gpu_interface_stage.cu, both forms are defined here, weakly: the linker takes these where
// the file has none. The stage calls the form with a stride; where that is this one, it lets the
// form without a stride compute every output and keeps each S-th row and column.

#include <cstddef>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"
#include "common/custom_submission/course_interface/cpu-new-forward.h"
#include "common/stage/cpu_stage.hpp"

// No file without a function that computes is linked.
[[gnu::weak]] void conv_forward_cpu(float*, const float*, const float*, int, int, int, int, int,
                                    int) {
  throw convlab::NotImplementedError("There is no conv_forward_cpu.");
}

[[gnu::weak]] void conv_forward_cpu(float* output, const float* input, const float* mask,
                                    const int B, const int M, const int C, const int H, const int W,
                                    const int K, const int S) {
  if (S == 1) {
    conv_forward_cpu(output, input, mask, B, M, C, H, W, K);
    return;
  }
  const int last_row = H - K;
  const int last_column = W - K;
  const auto rows = static_cast<std::size_t>(last_row) + 1;
  const auto columns = static_cast<std::size_t>(last_column) + 1;
  const auto stride = static_cast<std::size_t>(S);
  const std::size_t maps = static_cast<std::size_t>(B) * static_cast<std::size_t>(M);
  std::vector<float> all_outputs(maps * rows * columns);
  conv_forward_cpu(all_outputs.data(), input, mask, B, M, C, H, W, K);
  for (std::size_t map = 0; map < maps; ++map) {
    for (std::size_t h = 0; h < rows; h += stride) {
      const float* row = all_outputs.data() + (map * rows + h) * columns;
      for (std::size_t w = 0; w < columns; w += stride) *output++ = row[w];
    }
  }
}

namespace {

void conv_forward(const convlab::ConvShape& s, const float* input, const float* weights,
                  float* output) {
  conv_forward_cpu(output, input, weights, s.batch, s.out_channels, s.in_channels, s.height,
                   s.width, s.kernel, s.stride);
}

const convlab::CpuStage stage({.id = "source", .title = "The given source file"}, conv_forward);

}  // namespace
