// What      Writes far beyond the output; the file's own check prints the error and exits.
// Diagnosis E-outside
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/own_check.cuh"
#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  output[(size_t)at * 100000] = input[0] * mask[0] * M * C * H_out * W_out;
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  convolve<<<64, 256>>>(device_output, device_input, device_mask, M, C, H, W, K);
  gpuCheck(cudaGetLastError());
  gpuCheck(cudaDeviceSynchronize());
}
