// Puzzle 3 of 11: matrices that do not fill their tiles. About three lines to change.
//
// 13 maps, 41 taps, 50 columns: no multiple of 16 anywhere. The last round has 9 taps, the last
// block has 2 columns, and three rows of threads have no map:
//
//          taps 32 … 40 | beyond                 columns 48, 49 | beyond
//         ┌─────────────┬───────┐               ┌──────────────┬────────┐
//         │ weights     │ zeros │               │ sums         │ no     │
//         ├─────────────┴───────┤               │              │ output │
//         │ zeros  (maps 13…15) │               ├──────────────┴────────┤
//         └─────────────────────┘               │ no output             │
//                                               └───────────────────────┘
//
// The kernel below is right for multiples of 16. Put a zero into a tile wherever its matrix has
// ended, because a zero adds nothing to a sum. Store only what exists. No thread may return before
// the last barrier: the others need the elements that it loads.
//
// Check it with   build/bin/grader check m4 --stage tile-edge
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTile = 16;

/// output = weights × input: maps × taps times taps × columns.
__global__ void multiply(const float* weights, const float* input, float* output, int maps,
                         int taps, int columns) {
  __shared__ float weight_tile[kTile][kTile];  // (map, tap of this round)
  __shared__ float input_tile[kTile][kTile];   // (tap of this round, column of this block)
  const int map = threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < taps; first += kTile) {
    const int weight_tap = first + threadIdx.x;
    const int input_tap = first + threadIdx.y;
    weight_tile[threadIdx.y][threadIdx.x] = weights[map * taps + weight_tap];
    input_tile[threadIdx.y][threadIdx.x] = input[input_tap * columns + column];
    __syncthreads();
    for (int t = 0; t < kTile; ++t) sum += weight_tile[threadIdx.y][t] * input_tile[t][threadIdx.x];
    __syncthreads();
  }
  output[map * columns + column] = sum;
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const dim3 block(kTile, kTile);
    const int columns = shape.out_width();
    const int blocks = (columns + kTile - 1) / kTile;
    multiply<<<blocks, block>>>(weights, input, output, shape.out_channels, shape.in_channels,
                                columns);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, block, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "tile-edge",
                                               .title = "Zeros where a matrix ends",
                                               .order = 3});

}  // namespace
