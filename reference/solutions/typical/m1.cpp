// Milestone 1 as students write it. The mistakes of grader/corpus/mistakes change this file.
#include <cstddef>

#include "common/stage/cpu_stage.hpp"
#include "common/stage/stage.hpp"
#include "common/base/conv_shape.hpp"

namespace {

void conv_forward(const convlab::ConvShape& shape, const float* input, const float* weights,
                  float* output) {
  const std::size_t B = shape.batch;
  const std::size_t M = shape.out_channels;
  const std::size_t C = shape.in_channels;
  const std::size_t H = shape.height;
  const std::size_t W = shape.width;
  const std::size_t K = shape.kernel;
  const std::size_t S = shape.stride;
  const std::size_t H_out = shape.out_height();
  const std::size_t W_out = shape.out_width();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t m = 0; m < M; ++m) {
      for (std::size_t h = 0; h < H_out; ++h) {
        for (std::size_t w = 0; w < W_out; ++w) {
          float sum = 0.0f;
          for (std::size_t c = 0; c < C; ++c) {
            for (std::size_t p = 0; p < K; ++p) {
              for (std::size_t q = 0; q < K; ++q) {
                sum += input[((b * C + c) * H + h * S + p) * W + w * S + q] *
                       weights[((m * C + c) * K + p) * K + q];
              }
            }
          }
          output[((b * M + m) * H_out + h) * W_out + w] = sum;
        }
      }
    }
  }
}

const convlab::CpuStage stage({.id = "baseline", .title = "Seven loops"}, conv_forward);

}  // namespace
