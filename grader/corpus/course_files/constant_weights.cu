// What      The weights in constant memory, as many as the network has.
// Runs      emulated gpu
#include "gpu-new-forward.h"

#define TILE 16

#include <cmath>
#include <iostream>
__constant__ float weights[16 * 4 * 7 * 7];

__global__ void convolve(float* output, const float* input, int M, int C, int H, int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  if (h >= H_out || w >= W_out) return;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
               weights[((blockIdx.x * C + c) * K + p) * K + q];
  output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  cudaMemcpyToSymbol(weights, device_mask, sizeof(float) * M * C * K * K, 0,
                     cudaMemcpyDeviceToDevice);
  const int tiles = (int)ceil((W - K + 1) / 1.0 / TILE) * (int)ceil((H - K + 1) / 1.0 / TILE);
  convolve<<<dim3(M, tiles, B), dim3(TILE, TILE)>>>(device_output, device_input, M, C, H, W, K);
}
