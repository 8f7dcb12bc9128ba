// What      Ends the program without an error of CUDA.
// Diagnosis E-exit
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  if (B > 0) exit(0);
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
