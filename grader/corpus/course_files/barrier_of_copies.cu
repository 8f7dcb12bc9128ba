// What      Tiles that cuda::memcpy_async brings; the threads of a block meet in a cuda::barrier twice
//           for each channel.
// Says      computes like single precision
// Runs      emulated gpu

#include <cooperative_groups.h>
#include <cuda/barrier>

#include "gpu-new-forward.h"

#define TILE 16

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void convolve(float* output, const float* __restrict__ input,
                         const float* __restrict__ mask, int M, int C, int H, int W, int K, int S) {
  extern __shared__ float memory[];
  __shared__ Barrier barrier;
  const int H_out = (H - K) / S + 1, W_out = (W - K) / S + 1;
  const int tiles = (W_out + TILE - 1) / TILE, side = (TILE - 1) * S + K;
  float* tile = memory;
  float* weights = memory + side * side;
  const int top = blockIdx.y / tiles * TILE, left = blockIdx.y % tiles * TILE;
  const int thread = threadIdx.y * TILE + threadIdx.x;
  if (thread == 0) init(&barrier, TILE * TILE);
  __syncthreads();
  float sum = 0;
  for (int c = 0; c < C; c++) {
    for (int i = thread; i < side * side; i += TILE * TILE) {
      const int y = top * S + i / side, x = left * S + i % side;
      if (y < H && x < W)
        cuda::memcpy_async(tile + i, &input[((blockIdx.z * C + c) * H + y) * W + x],
                           cuda::aligned_size_t<4>(4), barrier);
      else
        tile[i] = 0;
    }
    for (int i = thread; i < K * K; i += TILE * TILE)
      cuda::memcpy_async(weights + i, &mask[(blockIdx.x * C + c) * K * K + i], sizeof(float),
                         barrier);
    barrier.arrive_and_wait();
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += tile[(threadIdx.y * S + p) * side + threadIdx.x * S + q] * weights[p * K + q];
    barrier.arrive_and_wait();
  }
  const int h = top + threadIdx.y, w = left + threadIdx.x;
  if (h < H_out && w < W_out)
    output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  const int side = (TILE - 1) * S + K;
  const int down = ((H - K) / S + TILE) / TILE, across = ((W - K) / S + TILE) / TILE;
  convolve<<<dim3(M, down * across, B), dim3(TILE, TILE), (side * side + K * K) * sizeof(float)>>>(
      device_output, device_input, device_mask, M, C, H, W, K, S);
}
