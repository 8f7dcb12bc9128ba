// What      Adds with atomics to an output that prolog clears: right when called once.
// Runs      emulated gpu
#include "parts/headers.cuh"
#define TILE 16
__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K) {
  int H_out = H - K + 1, W_out = W - K + 1;
  int tiles = (W_out + TILE - 1) / TILE;
  int m = blockIdx.x / C, c = blockIdx.x % C, b = blockIdx.z;
  int h = blockIdx.y / tiles * TILE + threadIdx.y, w = blockIdx.y % tiles * TILE + threadIdx.x;
  if (h >= H_out || w >= W_out) return;
  float sum = 0;
  for (int p = 0; p < K; p++)
    for (int q = 0; q < K; q++)
      sum += input[((b * C + c) * H + h + p) * W + w + q] * mask[((m * C + c) * K + p) * K + q];
  atomicAdd(&output[((b * M + m) * H_out + h) * W_out + w], sum);
}

#define AT_END_OF_PROLOG cudaMemset(*device_output_ptr, 0, OUTPUT_BYTES)
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  int tiles = ((W - K + 1 + TILE - 1) / TILE) * ((H - K + 1 + TILE - 1) / TILE);
  convolve<<<dim3(M * C, tiles, B), dim3(TILE, TILE)>>>(device_output, device_input, device_mask, B,
                                                        M, C, H, W, K);
}
