// What      The form with a stride, but the kernel moves by one pixel.
// Diagnosis E-stride
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K, int S) {
  const int H_out = (H - K) / S + 1, W_out = (W - K) / S + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= H_out * W_out) return;
  const int h = at / W_out, w = at % W_out;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
               mask[((blockIdx.y * C + c) * K + p) * K + q];
  output[((blockIdx.z * M + blockIdx.y) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases_with_stride.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K, const int S) {
  const int outputs = ((H - K) / S + 1) * ((W - K) / S + 1);
  convolve<<<dim3((outputs + 255) / 256, M, B), 256>>>(device_output, device_input, device_mask, B,
                                                      M, C, H, W, K, S);
}
