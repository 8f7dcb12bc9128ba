// Threads without an output, and what keeps them from working.
//
// Runs      emulated gpu

// Case      sum_before_guard
// What      Threads without an output compute their sum, too, before they look at the border.
// Warns     E-outside
#define SUMS true
#define STORES (h < H_out && w < W_out)

// Case      writes_beyond
// What      The last tile writes over the end of the output.
// Diagnosis E-outside
#define SUMS (h < H_out && w < W_out)
#define STORES true

// End of cases
#include "parts/headers.cuh"
#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < C && SUMS; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
               mask[((blockIdx.x * C + c) * K + p) * K + q];
  if (STORES)
    output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/launch_tiles.cuh"
