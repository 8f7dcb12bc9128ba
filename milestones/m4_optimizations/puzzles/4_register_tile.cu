// Puzzle 4 of 11: four sums in each thread. About ten lines.
//
// In tile-product a thread loads 2 words from shared memory for each multiply-add. Shared memory
// cannot deliver that many. Let a thread compute 2 maps × 2 columns:
//
//                      input_tile[t][…]     x0    x1          4 loads, 4 multiply-adds:
//                                         ┌─────┬─────┐       one load for each
//          weight_tile[…][t]          w0  │  +  │  +  │
//                                     w1  │  +  │  +  │       with 4 × 4 sums: 8 loads for 16
//                                         └─────┴─────┘
//
// 8 × 8 threads compute 16 × 16 sums. Thread (y, x) has the maps y and y + 8 and the columns x and
// x + 8 of its block: then the threads of a row still read neighbours. Load both weights and both
// inputs into variables first, and use each of them twice.
//
// Check it with   build/bin/grader check m4 --stage register-tile
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTile = 16;
constexpr int kThreads = 8;  // in each direction

/// output = weights × input: 16 × taps times taps × columns. Both are multiples of 16.
__global__ void multiply(const float* weights, const float* input, float* output, int taps,
                         int columns) {
  __shared__ float weight_tile[kTile][kTile];  // (map, tap of this round)
  __shared__ float input_tile[kTile][kTile];   // (tap of this round, column of this block)
  const int first_column = blockIdx.x * kTile;
  float sum[2][2] = {};  // (map y or y + 8, column x or x + 8)
  for (int first = 0; first < taps; first += kTile) {
    for (int y = threadIdx.y; y < kTile; y += kThreads) {
      for (int x = threadIdx.x; x < kTile; x += kThreads) {
        weight_tile[y][x] = weights[y * taps + first + x];
        input_tile[y][x] = input[(first + y) * columns + first_column + x];
      }
    }
    __syncthreads();
    // For each of the 16 taps: load 2 weights and 2 inputs, then 4 multiply-adds.
    __syncthreads();
  }
  // Store the four sums.
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const dim3 block(kThreads, kThreads);
    const int blocks = shape.out_width() / kTile;
    multiply<<<blocks, block>>>(weights, input, output, shape.in_channels, shape.out_width());
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, block, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "register-tile",
                                               .title = "Four sums in each thread",
                                               .order = 4});

}  // namespace
