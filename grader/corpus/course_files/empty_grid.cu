// What      Tiles of 64: the second layer has outputs of 34, and 34 / 64 is 0 blocks.
// Diagnosis E-empty-grid E-launch
// Runs      emulated gpu
#include "parts/headers.cuh"

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int tile = M == 4 ? 16 : 64, tiles = W_out / tile;
  for (int y = threadIdx.y; y < tile; y += 16)
    for (int x = threadIdx.x; x < tile; x += 16) {
      const int h = blockIdx.y / tiles * tile + y, w = blockIdx.y % tiles * tile + x;
      if (h >= H_out || w >= W_out) continue;
      float sum = 0;
      for (int c = 0; c < C; c++)
        for (int p = 0; p < K; p++)
          for (int q = 0; q < K; q++)
            sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
                   mask[((blockIdx.x * C + c) * K + p) * K + q];
      output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
    }
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int tile = M == 4 ? 16 : 64;
  convolve<<<dim3(M, (W - K + 1) / tile * ((H - K + 1) / tile), B), dim3(16, 16)>>>(
      device_output, device_input, device_mask, M, C, H, W, K);
}
