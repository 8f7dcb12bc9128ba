// Puzzle 6 of 11: four floats in one load, and rows of odd length. About ten lines.
//
// A float4 is four neighbouring floats that one instruction loads or stores. Its address must be a
// multiple of 16 bytes. cudaMalloc returns such addresses, but the rows here have 1001 floats:
//
//     row 0 begins at float    0      0 · 4 bytes: a multiple of 16
//     row 1 begins at float 1001   4004     bytes: not one
//
// The kernel below goes row by row, and fails in row 1. But the three rows lie one after the other
// and all numbers get the same factor, so the rows do not matter: take the array as 3003 numbers in
// one row. Threads of 4 numbers cover 3000 of them. The 3 that are left have no float4: load and
// store them one by one.
//
// Check it with   build/bin/grader check m4 --stage float4
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

/// Each thread scales four neighbours: output[i] = factor[0] · input[i].
__global__ void scale(const float* input, const float* factor, float* output, int width) {
  const int row = blockIdx.y;
  const int i = row * width + 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  const float4 four = *reinterpret_cast<const float4*>(input + i);
  const float by = factor[0];
  *reinterpret_cast<float4*>(output + i) =
      make_float4(by * four.x, by * four.y, by * four.z, by * four.w);
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* factor,
              const convlab::ConvShape& shape) override {
    const int threads = 64;
    const int rows = shape.out_height();
    const int width = shape.out_width();
    const dim3 blocks((width / 4 + threads - 1) / threads, rows);
    scale<<<blocks, threads>>>(input, factor, output, width);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, threads, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "float4",
                                               .title = "float4 and rows of odd length",
                                               .order = 6});

}  // namespace
