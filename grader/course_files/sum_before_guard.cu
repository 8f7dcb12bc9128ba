// What      Threads without an output compute their sum, too, before they look at the border.
// Warns     E-outside
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
               mask[((blockIdx.x * C + c) * K + p) * K + q];
  if (h < H_out && w < W_out)
    output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  const int tiles = (int)ceil((W - K + 1) / 1.0 / TILE) * (int)ceil((H - K + 1) / 1.0 / TILE);
  convolve<<<dim3(M, tiles, B), dim3(TILE, TILE)>>>(device_output, device_input, device_mask, M, C,
                                                   H, W, K);
}
