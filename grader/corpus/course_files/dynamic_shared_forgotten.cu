// What      Dynamic shared memory whose size is missing in the launch.
// Diagnosis E-outside
// Says      shmem
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#define TILE_WIDTH 16
__global__ void conv_forward_kernel(float* y, const float* x, const float* k, const int B,
                                    const int M, const int C, const int H, const int W,
                                    const int K) {
#define y4d(i3, i2, i1, i0) \
  y[(i3) * (M * H_out * W_out) + (i2) * (H_out * W_out) + (i1) * (W_out) + i0]
#define x4d(i3, i2, i1, i0) x[(i3) * (C * H * W) + (i2) * (H * W) + (i1) * (W) + i0]
#define k4d(i3, i2, i1, i0) k[(i3) * (C * K * K) + (i2) * (K * K) + (i1) * (K) + i0]
  const int H_out = H - K + 1;
  const int W_out = W - K + 1;
  int W_grid = ceil(1.0 * W_out / TILE_WIDTH);
  int X_tile_width = TILE_WIDTH + K - 1;
  extern __shared__ float shmem[];
  float* X_shared = &shmem[0];
  float* K_shared = &shmem[X_tile_width * X_tile_width];
  int n = blockIdx.x, m = blockIdx.y;
  int h0 = threadIdx.x, w0 = threadIdx.y;
  int h_base = (blockIdx.z / W_grid) * TILE_WIDTH, w_base = (blockIdx.z % W_grid) * TILE_WIDTH;
  int h = h_base + h0, w = w_base + w0;
  float acc = 0.;
  for (int c = 0; c < C; c++) {
    if ((h0 < K) && (w0 < K)) K_shared[h0 * K + w0] = k4d(m, c, h0, w0);
    __syncthreads();
    for (int i = h; i < h_base + X_tile_width; i += TILE_WIDTH)
      for (int j = w; j < w_base + X_tile_width; j += TILE_WIDTH)
        X_shared[(i - h_base) * X_tile_width + j - w_base] = (i < H && j < W) ? x4d(n, c, i, j) : 0;
    __syncthreads();
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        acc = acc + X_shared[(h0 + p) * X_tile_width + w0 + q] * K_shared[p * K + q];
    __syncthreads();
  }
  if (h < H_out && w < W_out) y4d(n, m, h, w) = acc;
#undef y4d
#undef x4d
#undef k4d
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  const int H_out = H - K + 1, W_out = W - K + 1;
  int W_grid = ceil(W_out * 1.0 / TILE_WIDTH), H_grid = ceil(H_out * 1.0 / TILE_WIDTH);
  size_t shmem_size = sizeof(float) * ((TILE_WIDTH + K - 1) * (TILE_WIDTH + K - 1) + K * K);
  dim3 gridDim(B, M, W_grid * H_grid), blockDim(TILE_WIDTH, TILE_WIDTH, 1);
  conv_forward_kernel<<<gridDim, blockDim>>>(device_output, device_input, device_mask, B, M, C, H,
                                             W, K);
  cudaDeviceSynchronize();
}
