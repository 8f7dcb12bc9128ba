// Milestone 1 with OpenMP: the input of an image unrolled, then a product by rows. Mistakes of
// grader/corpus/mistakes change this file.
#include <cstddef>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"
#include "common/stage/stage.hpp"

namespace {

void conv_forward(const convlab::ConvShape& shape, const float* input, const float* weights,
                  float* output) {
  const int B = shape.batch;
  const int M = shape.out_channels;
  const int C = shape.in_channels;
  const int H = shape.height;
  const int W = shape.width;
  const int K = shape.kernel;
  const int S = shape.stride;
  const int H_out = shape.out_height();
  const int W_out = shape.out_width();
  const int pixels = H_out * W_out;
  const int taps = C * K * K;
#pragma omp parallel
  {
    std::vector<float> unrolled(std::size_t(taps) * pixels);
#pragma omp for
    for (int b = 0; b < B; ++b) {
      for (int tap = 0; tap < taps; ++tap) {
        const int c = tap / (K * K);
        const int p = tap / K % K;
        const int q = tap % K;
        for (int pixel = 0; pixel < pixels; ++pixel) {
          const int row = pixel / W_out * S + p;
          const int column = pixel % W_out * S + q;
          unrolled[std::size_t(tap) * pixels + pixel] =
              input[((std::size_t(b) * C + c) * H + row) * W + column];
        }
      }
      for (int m = 0; m < M; ++m) {
        float* out = output + (std::size_t(b) * M + m) * pixels;
        for (int pixel = 0; pixel < pixels; ++pixel) out[pixel] = 0.0f;
        for (int tap = 0; tap < taps; ++tap) {
          const float weight = weights[m * taps + tap];
          const float* in = &unrolled[std::size_t(tap) * pixels];
          for (int pixel = 0; pixel < pixels; ++pixel) out[pixel] += weight * in[pixel];
        }
      }
    }
  }
}

const convlab::CpuStage stage({.id = "openmp", .title = "Unrolled, on all cores"}, conv_forward);

}  // namespace
