// What      Prints shapes and properties of the device in each call, and checks each for errors.
// Says      computes like single precision
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/own_check.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K, const int S) {
  cudaDeviceProp properties;
  gpuCheck(cudaGetDeviceProperties(&properties, 0));
  std::cout << "B=" << B << " M=" << M << " C=" << C << " H=" << H << " W=" << W << " K=" << K
            << " on " << properties.name << std::endl;
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
  gpuCheck(cudaGetLastError());
  gpuCheck(cudaDeviceSynchronize());
}
