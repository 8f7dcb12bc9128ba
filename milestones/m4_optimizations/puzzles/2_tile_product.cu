// Puzzle 2 of 11: a product with tiles. About six lines.
//
// matrix_product.cu multiplies 16 × 16 by 16 × 16. Now the sums have 48 terms and there are 64
// columns: 16 × 48 times 48 × 64. Four blocks share the columns. Each goes through the 48 taps in
// three rounds of 16:
//
//                                      16 columns of the block
//                                     ┌───────┐
//                    taps  0 … 15     │ round │ 0
//                    taps 16 … 31     │ round │ 1      input, 48 × 64
//                    taps 32 … 47     │ round │ 2
//                                     └───────┘
//       weights, 16 × 48
//      ┌───────┬───────┬───────┐      ┌───────┐
//      │round 0│round 1│round 2│      │ sums  │
//      └───────┴───────┴───────┘      └───────┘
//
// A round: every thread loads one weight and one input; the tiles must be complete; 16 multiply-
// adds; and no thread may begin the next round while another still reads these tiles.
//
// The check runs this as a convolution with kernel 1: a map is a row of the product.
//
// Check it with   build/bin/grader check m4 --stage tile-product
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTile = 16;

/// output = weights × input: 16 × taps times taps × columns. Both are multiples of 16.
__global__ void multiply(const float* weights, const float* input, float* output, int taps,
                         int columns) {
  __shared__ float weight_tile[kTile][kTile];  // (map, tap of this round)
  __shared__ float input_tile[kTile][kTile];   // (tap of this round, column of this block)
  const int map = threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < taps; first += kTile) {
    // One round with the taps first … first + 15.
  }
  output[map * columns + column] = sum;
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const dim3 block(kTile, kTile);
    const int blocks = shape.out_width() / kTile;
    multiply<<<blocks, block>>>(weights, input, output, shape.in_channels, shape.out_width());
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, block, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "tile-product",
                                               .title = "Three rounds with tiles of 16 × 16",
                                               .order = 2});

}  // namespace
