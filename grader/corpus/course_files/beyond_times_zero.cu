// A product of matrices whose sum is padded to a multiple of 16: the padding reads far before the
// input.
//
// Runs      emulated gpu

// Case      beyond_times_zero
// What      Weights of zero cancel what was read 2027 elements before the input.
// Warns     E-outside

// Case      beyond_times_weight
// What      The same reads with a weight that is not zero.
// Diagnosis E-outside
#define PADDING_WEIGHT 0.001f

// Case      beyond_times_zero_workbook
// What      The same reads by the rules of the workbook.
// Diagnosis E-outside
// Options   --rules workbook

// Case      padding_inside
// What      The padding reads an element of the image, which a weight of zero cancels.
// Says      computes like single precision
#define PADDING_FROM 0

// End of cases
#include "parts/headers.cuh"
#define TILE 16
#ifndef PADDING_WEIGHT
#define PADDING_WEIGHT 0.0f
#endif
#ifndef PADDING_FROM
#define PADDING_FROM (-2027)
#endif

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1, taps = C * K * K;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  if (h >= H_out || w >= W_out) return;
  float sum = 0;
  for (int tap = 0; tap < (taps + 15) / 16 * 16; tap++) {
    const bool real = tap < taps;
    const int c = tap / (K * K), p = tap / K % K, q = tap % K;
    const int from = real ? ((blockIdx.z * C + c) * H + h + p) * W + w + q : PADDING_FROM;
    sum += input[from] * (real ? mask[blockIdx.x * taps + tap] : PADDING_WEIGHT);
  }
  output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/launch_tiles.cuh"
