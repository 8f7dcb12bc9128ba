// Each block keeps its map's weights in shared memory; the input is read from global memory.
//
// Runs      emulated gpu

// Case      weights_in_tiles
// What      The weights of a map in shared memory.
// Says      computes like single precision

// Case      weights_in_tiles_in_the_ranked_run
// What      The same is no product of an unrolled matrix, which the ranked run asks for.
// Options   --rules sp26-final --competition
// Diagnosis E-course-rule
// Says      its tiles hold no input
// Says      of the unrolled input

// End of cases
#include "parts/headers.cuh"
#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  __shared__ float weights[4 * 7 * 7];
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  for (int i = threadIdx.y * TILE + threadIdx.x; i < C * K * K; i += TILE * TILE)
    weights[i] = mask[blockIdx.x * C * K * K + i];
  __syncthreads();
  if (h >= H_out || w >= W_out) return;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] * weights[(c * K + p) * K + q];
  output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/launch_tiles.cuh"
