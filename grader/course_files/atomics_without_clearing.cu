// What      Each channel adds to an output that nobody cleared.
// Diagnosis E-uninitialised E-unwritten-memory E-nan
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= H_out * W_out) return;
  const int m = blockIdx.y / C, c = blockIdx.y % C;
  float sum = 0;
  for (int p = 0; p < K; p++)
    for (int q = 0; q < K; q++)
      sum += input[((blockIdx.z * C + c) * H + at / W_out + p) * W + at % W_out + q] *
             mask[((m * C + c) * K + p) * K + q];
  atomicAdd(&output[(blockIdx.z * M + m) * H_out * W_out + at], sum);
}

#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 255) / 256, M * C, B), 256>>>(device_output, device_input, device_mask,
                                                          M, C, H, W, K);
}
