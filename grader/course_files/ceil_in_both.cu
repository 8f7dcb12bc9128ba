// What      ceil of two whole numbers, for rows and for columns.
// Diagnosis E-rounded-down
// Says      ceil(Ho / TILE)
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"
#include "parts/phases_with_stride.cuh"
#include "parts/plain_kernel.cuh"
void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K, const int S) {
  int Ho = (H - K) / S + 1, Wo = (W - K) / S + 1;
  dim3 g(M, ceil(Ho / TILE) * ceil(Wo / TILE), B);
  convolve<<<g, dim3(TILE, TILE, 1)>>>(device_output, device_input, device_mask, B, M, C, H, W, K,
                                       S);
}
