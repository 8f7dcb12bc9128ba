// What      Reads four numbers at once from rows of 86, of which every other begins in the midst.
// Diagnosis E-misaligned
// Says      float4 must lie at a multiple of 16 bytes
// Runs      emulated gpu
#include "parts/headers.cuh"
#define TILE 16
__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K) {
  int H_out = H - K + 1, W_out = W - K + 1;
  int w = blockIdx.x * TILE + threadIdx.x, h = blockIdx.y * TILE + threadIdx.y, m = blockIdx.z % M,
      b = blockIdx.z / M;
  if (h >= H_out || w * 4 >= W_out) return;
  float sum[4] = {};
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++) {
      const float4* row =
          reinterpret_cast<const float4*>(&input[((b * C + c) * H + h + p) * W + w * 4]);
      float4 x0 = row[0], x1 = row[1], x2 = row[2];
      float x[12] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w, x2.x, x2.y, x2.z, x2.w};
      for (int q = 0; q < K; q++)
        for (int i = 0; i < 4; i++) sum[i] += x[q + i] * mask[((m * C + c) * K + p) * K + q];
    }
  for (int i = 0; i < 4; i++)
    if (w * 4 + i < W_out) output[((b * M + m) * H_out + h) * W_out + w * 4 + i] = sum[i];
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  dim3 grid(ceil((W - K + 1) / 4.0 / TILE), ceil((H - K + 1) / 1.0 / TILE), B * M);
  convolve<<<grid, dim3(TILE, TILE)>>>(device_output, device_input, device_mask, B, M, C, H, W, K);
}
