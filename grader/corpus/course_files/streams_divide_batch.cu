// Four streams, each with a quarter of the batch: the course never ran fewer than 100 images.
//
// Runs      emulated gpu
// Batch     8

// Case      streams_divide_batch
// What      Each stream takes B / 4 images, which is none of a single one.
// Says      computes like single precision
#define INSIDE (top + y < H && left + x < W)

// Case      streams_divide_batch_and_halo
// What      The same, and the halo of the last tile is read beyond the input; nothing uses it.
// Warns     E-outside
#define INSIDE true

// Case      streams_leave_images_out
// What      Seven streams with B / 7 images each leave one of eight out.
// Diagnosis E-never-written E-partly-written E-images E-last-image
#define STREAMS 7
#define INSIDE (top + y < H && left + x < W)

// End of cases
#include <cmath>

#include "gpu-new-forward.h"

#define TILE 16
#ifndef STREAMS
#define STREAMS 4
#endif

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  __shared__ float tile[TILE + 6][TILE + 6];
  const int tiles = (W_out + TILE - 1) / TILE;
  const int top = blockIdx.y / tiles * TILE, left = blockIdx.y % tiles * TILE;
  const int h = top + threadIdx.y, w = left + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < C; c++) {
    for (int y = threadIdx.y; y < TILE + K - 1; y += TILE)
      for (int x = threadIdx.x; x < TILE + K - 1; x += TILE)
        tile[y][x] = INSIDE ? input[((blockIdx.z * C + c) * H + top + y) * W + left + x] : 0.0f;
    __syncthreads();
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += tile[threadIdx.y + p][threadIdx.x + q] * mask[((blockIdx.x * C + c) * K + p) * K + q];
    __syncthreads();
  }
  if (h < H_out && w < W_out)
    output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int tiles = (int)ceil((W - K + 1) / 1.0 / TILE) * (int)ceil((H - K + 1) / 1.0 / TILE);
  const int images = B / STREAMS;
  cudaStream_t streams[STREAMS];
  for (int i = 0; i < STREAMS; i++) {
    cudaStreamCreate(&streams[i]);
    const size_t from = (size_t)i * images * C * H * W;
    const size_t to = (size_t)i * images * M * (H - K + 1) * (W - K + 1);
    convolve<<<dim3(M, tiles, images), dim3(TILE, TILE), 0, streams[i]>>>(
        device_output + to, device_input + from, device_mask, M, C, H, W, K);
  }
  for (int i = 0; i < STREAMS; i++) {
    cudaStreamSynchronize(streams[i]);
    cudaStreamDestroy(streams[i]);
  }
}
