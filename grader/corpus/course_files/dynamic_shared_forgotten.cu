// What      Dynamic shared memory whose size is missing in the launch.
// Diagnosis E-outside
// Says      shmem
// Runs      emulated gpu
#include "parts/headers.cuh"
#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  extern __shared__ float shmem[];
  const int H_out = H - K + 1, W_out = W - K + 1, side = TILE + K - 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int top = blockIdx.y / tiles * TILE, left = blockIdx.y % tiles * TILE;
  const int y = threadIdx.y, x = threadIdx.x;
  float* weights = &shmem[side * side];
  float sum = 0;
  for (int c = 0; c < C; c++) {
    if (y < K && x < K) weights[y * K + x] = mask[((blockIdx.x * C + c) * K + y) * K + x];
    for (int i = y; i < side; i += TILE)
      for (int j = x; j < side; j += TILE)
        shmem[i * side + j] = top + i < H && left + j < W
                                  ? input[((blockIdx.z * C + c) * H + top + i) * W + left + j]
                                  : 0;
    __syncthreads();
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++) sum += shmem[(y + p) * side + x + q] * weights[p * K + q];
    __syncthreads();
  }
  if (top + y < H_out && left + x < W_out)
    output[((blockIdx.z * M + blockIdx.x) * H_out + top + y) * W_out + left + x] = sum;
}

#include "parts/launch_tiles.cuh"
