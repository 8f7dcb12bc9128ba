// What      The plain kernel in the form without a stride.
// Says      also right on 29 of 29 general shapes
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
