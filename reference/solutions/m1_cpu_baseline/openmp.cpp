// Seven loops on all cores.
//
// Idea     No output depends on another one, so any split of the outer loops is right. Each thread
//          takes the next free map. So all cores stay busy, even if one of them is slower.
// Picture  core 0   (b0,m0) (b0,m2) (b0,m3) …
//          core 1   (b0,m1)    (b1,m0)     …
// Cost     the multiply-adds of the baseline, divided by the cores; starting the threads takes
//          microseconds, once per layer.
// Expect   faster by the number of cores, no more: each core still adds one product at a time. No
//          less either, because the threads share only data that they read.
// Run      build/bin/m1 1000 --solution reference --stage openmp

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

#pragma omp parallel for collapse(2) schedule(dynamic)
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

const CpuStage stage(
    {.id = "openmp", .title = "Seven loops on all cores", .baseline = "baseline", .order = 1},
    conv_forward);

}  // namespace
}  // namespace convlab
