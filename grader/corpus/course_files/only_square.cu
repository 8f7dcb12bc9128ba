// It works for some shapes only, which the course never noticed.
//
// Runs      emulated gpu
#include "parts/headers.cuh"

// Case      only_square
// What      Rows are as long as columns, so the width is never used.
#define SIDE H

// Case      hard_wired_to_86
// What      The sizes of the network's images are in the kernel, as another course gives them.
// Options   --rules cse160
// Batch     1000
#define SIDE (C == 1 ? 86 : 40)

// End of cases

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int K) {
  const int out = SIDE - K + 1;
  const int w = blockIdx.x % ((out + 31) / 32) * 32 + threadIdx.x;
  const int h = blockIdx.x / ((out + 31) / 32) * 8 + threadIdx.y;
  if (h >= out || w >= out) return;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * SIDE + h + p) * SIDE + w + q] *
               mask[((blockIdx.y * C + c) * K + p) * K + q];
  output[((blockIdx.z * M + blockIdx.y) * out + h) * out + w] = sum;
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int out = H - K + 1;
  convolve<<<dim3((out + 31) / 32 * ((out + 7) / 8), M, B), dim3(32, 8)>>>(
      device_output, device_input, device_mask, M, C, H, K);
}
