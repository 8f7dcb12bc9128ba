// What      Tiles of 48 with their halo, loaded without a look at the borders of the image.
// Warns     E-outside
// Runs      emulated gpu
#include "parts/headers.cuh"

// tile of 48 x 48 outputs loaded with its halo, nobody checks the border of the image
#define TILE 48
#define BLOCK 16
#define HALO 6
__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K) {
  __shared__ float tile[TILE + HALO][TILE + HALO];
  int H_out = H - K + 1, W_out = W - K + 1;
  int tiles = (W_out + TILE - 1) / TILE;
  int m = blockIdx.x, b = blockIdx.z, h0 = blockIdx.y / tiles * TILE,
      w0 = blockIdx.y % tiles * TILE;
  float sum[9] = {};
  for (int c = 0; c < C; c++) {
    for (int y = threadIdx.y; y < TILE + K - 1; y += BLOCK)
      for (int x = threadIdx.x; x < TILE + K - 1; x += BLOCK)
        tile[y][x] = input[((b * C + c) * H + h0 + y) * W + w0 + x];
    __syncthreads();
    for (int i = 0; i < 9; i++)
      for (int p = 0; p < K; p++)
        for (int q = 0; q < K; q++)
          sum[i] += tile[threadIdx.y + i / 3 * BLOCK + p][threadIdx.x + i % 3 * BLOCK + q] *
                    mask[((m * C + c) * K + p) * K + q];
    __syncthreads();
  }
  for (int i = 0; i < 9; i++) {
    int h = h0 + threadIdx.y + i / 3 * BLOCK, w = w0 + threadIdx.x + i % 3 * BLOCK;
    if (h < H_out && w < W_out) output[((b * M + m) * H_out + h) * W_out + w] = sum[i];
  }
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  int th = ceil((H - K + 1) / 1.0 / TILE), tw = ceil((W - K + 1) / 1.0 / TILE);
  convolve<<<dim3(M, th * tw, B), dim3(BLOCK, BLOCK)>>>(device_output, device_input, device_mask, B,
                                                        M, C, H, W, K);
}
