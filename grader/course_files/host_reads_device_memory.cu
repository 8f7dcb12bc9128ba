// What      The host looks at the first output on the device, to print it.
// Diagnosis E-device-pointer
// Runs      emulated
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
  cudaDeviceSynchronize();
  std::cout << "first output " << device_output[0] << std::endl;
}
