// What      Includes cublas_v2.h, has a handle, and calls nothing of it.
// Says      computes like single precision
// Runs      emulated gpu
#include <cublas_v2.h>

#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

static cublasHandle_t handle = nullptr;

#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K, const int S) {
  if (handle != nullptr) return;
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
}
