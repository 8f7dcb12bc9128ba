// What      One kernel for each layer, with the numbers of maps and channels as template arguments.
// Runs      emulated gpu
#include "parts/headers.cuh"

template <int M, int C, int SIZE>
__global__ void convolve(float* __restrict__ output, const float* __restrict__ input,
                         const float* __restrict__ mask) {
  const int out = SIZE - 6;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= out * out) return;
  const int h = at / out, w = at % out;
  float sums[M] = {};
  for (int c = 0; c < C; c++)
    for (int p = 0; p < 7; p++)
      for (int q = 0; q < 7; q++) {
        const float x = input[((blockIdx.y * C + c) * SIZE + h + p) * SIZE + w + q];
#pragma unroll
        for (int m = 0; m < M; m++) sums[m] += x * mask[((m * C + c) * 7 + p) * 7 + q];
      }
  for (int m = 0; m < M; m++) output[((blockIdx.y * M + m) * out + h) * out + w] = sums[m];
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  if (M == 4) {
    convolve<4, 1, 86><<<dim3(80 * 80 / 256, B), 256>>>(device_output, device_input, device_mask);
  } else if (M == 16) {
    convolve<16, 4, 40><<<dim3((34 * 34 + 255) / 256, B), 256>>>(device_output, device_input,
                                                                device_mask);
  }
}
