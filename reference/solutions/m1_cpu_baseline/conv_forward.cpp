// Seven loops, one thread.
//
// Idea     The definition as code. Four loops pick an output, three sum its products.
// Picture  for b · for m · for h · for w        one output each
//              for c · for p · for q            its in_channels · kernel² products
// Cost     in_channels · kernel² multiply-adds per output. Each waits for the one before it,
//          because all add to the same `sum`: each addition waits 2 to 4 cycles, and 15 of the 16
//          lanes of a vector unit stay empty.
// Expect   around 1 % of what one core can do, 4 milliseconds per image. The compiler must keep the
//          order of the additions, because another order rounds differently.
// Run      build/bin/m1 100 --solution reference --stage baseline

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"

namespace convlab {
namespace {

void conv_forward(const ConvShape& shape, const float* input, const float* weights, float* output) {
  const std::int64_t channels = shape.in_channels;
  const std::int64_t maps = shape.out_channels;
  const std::int64_t kernel = shape.kernel;
  const int out_height = shape.out_height();
  const int out_width = shape.out_width();

  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t m = 0; m < maps; ++m) {
      for (std::int64_t h = 0; h < out_height; ++h) {
        for (std::int64_t w = 0; w < out_width; ++w) {
          float sum = 0.0f;
          for (std::int64_t c = 0; c < channels; ++c) {
            for (int p = 0; p < kernel; ++p) {
              for (int q = 0; q < kernel; ++q) {
                const std::int64_t row = (b * channels + c) * shape.height + h * shape.stride + p;
                sum += input[row * shape.width + w * shape.stride + q] *
                       weights[((m * channels + c) * kernel + p) * kernel + q];
              }
            }
          }
          output[((b * maps + m) * out_height + h) * out_width + w] = sum;
        }
      }
    }
  }
}

const CpuStage stage({.id = "baseline", .title = "Seven loops, one thread", .order = 0},
                     conv_forward);

}  // namespace
}  // namespace convlab
