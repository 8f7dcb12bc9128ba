// The course's interface of FA20: one function, pointers to host memory, as a student may have
// written it.
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#define TILE_WIDTH 16

__global__ void conv_forward_kernel(float* output, const float* input, const float* mask,
                                    const int B, const int M, const int C, const int H, const int W,
                                    const int K) {
  const int H_out = H - K + 1;
  const int W_out = W - K + 1;
#define out_4d(i3, i2, i1, i0) \
  output[(i3) * (M * H_out * W_out) + (i2) * (H_out * W_out) + (i1) * (W_out) + i0]
#define in_4d(i3, i2, i1, i0) input[(i3) * (C * H * W) + (i2) * (H * W) + (i1) * (W) + i0]
#define mask_4d(i3, i2, i1, i0) mask[(i3) * (C * K * K) + (i2) * (K * K) + (i1) * (K) + i0]
  const int W_grid = (W_out + TILE_WIDTH - 1) / TILE_WIDTH;
  const int m = blockIdx.x;
  const int h = (blockIdx.y / W_grid) * TILE_WIDTH + threadIdx.y;
  const int w = (blockIdx.y % W_grid) * TILE_WIDTH + threadIdx.x;
  const int b = blockIdx.z;
  if (h >= H_out || w >= W_out) return;
  float sum = 0.0f;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++) sum += in_4d(b, c, h + p, w + q) * mask_4d(m, c, p, q);
  out_4d(b, m, h, w) = sum;
}

__host__ void GPUInterface::conv_forward_gpu(float* host_y, const float* host_x,
                                             const float* host_k, const int B, const int M,
                                             const int C, const int H, const int W, const int K) {
  const int H_out = H - K + 1;
  const int W_out = W - K + 1;
  const size_t y_bytes = sizeof(float) * B * M * H_out * W_out;
  const size_t x_bytes = sizeof(float) * B * C * H * W;
  const size_t k_bytes = sizeof(float) * M * C * K * K;
  float *device_y, *device_x, *device_k;
  cudaMalloc(&device_y, y_bytes);
  cudaMalloc(&device_x, x_bytes);
  cudaMalloc(&device_k, k_bytes);
  cudaMemcpy(device_x, host_x, x_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device_k, host_k, k_bytes, cudaMemcpyHostToDevice);
  const int tiles = std::ceil(H_out / float(TILE_WIDTH)) * std::ceil(W_out / float(TILE_WIDTH));
  conv_forward_kernel<<<dim3(M, tiles, B), dim3(TILE_WIDTH, TILE_WIDTH)>>>(
      device_y, device_x, device_k, B, M, C, H, W, K);
  cudaMemcpy(host_y, device_y, y_bytes, cudaMemcpyDeviceToHost);
  cudaFree(device_y);
  cudaFree(device_x);
  cudaFree(device_k);
}
