// What      Copies more into constant memory than it holds; the file's own check exits.
// Diagnosis E-cuda-call E-copy
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/own_check.cuh"
#include "parts/plain_kernel.cuh"

__constant__ float weights[49];

#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  gpuCheck(cudaMemcpyToSymbol(weights, device_mask, sizeof(float) * M * C * K * K, 0,
                              cudaMemcpyDeviceToDevice));
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
