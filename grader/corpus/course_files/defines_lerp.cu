// What      Brings a function lerp along, as helper headers do; C++20 has one of its own.
// Runs      emulated gpu
#include "parts/headers.cuh"

// from our helper_math
inline __host__ __device__ float lerp(float a, float b, float t) {
  return a + t * (b - a);
}
inline __host__ __device__ float2 lerp(float2 a, float2 b, float t) {
  return make_float2(lerp(a.x, b.x, t), lerp(a.y, b.y, t));
}
#define TILE 16
__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K) {
  int H_out = H - K + 1, W_out = W - K + 1;
  int w = blockIdx.x * TILE + threadIdx.x, h = blockIdx.y * TILE + threadIdx.y, m = blockIdx.z % M,
      b = blockIdx.z / M;
  if (h >= H_out || w >= W_out) return;
  float sum = lerp(0.0f, 1.0f, 0.0f);
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((b * C + c) * H + h + p) * W + w + q] * mask[((m * C + c) * K + p) * K + q];
  output[((b * M + m) * H_out + h) * W_out + w] = sum;
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  dim3 grid(ceil((W - K + 1) / 1.0 / TILE), ceil((H - K + 1) / 1.0 / TILE), B * M);
  convolve<<<grid, dim3(TILE, TILE)>>>(device_output, device_input, device_mask, B, M, C, H, W, K);
}
