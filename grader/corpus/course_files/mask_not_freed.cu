// What      Epilog frees two of three arrays; the course never looked at that.
// Warns     E-leak
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"

void GPUInterface::conv_forward_gpu_prolog(const float* host_output, const float* host_input,
                                           const float* host_mask, float** device_output_ptr,
                                           float** device_input_ptr, float** device_mask_ptr,
                                           const int B, const int M, const int C, const int H,
                                           const int W, const int K) {
  cudaMalloc((void**)device_output_ptr, sizeof(float) * B * M * (H - K + 1) * (W - K + 1));
  cudaMalloc((void**)device_input_ptr, sizeof(float) * B * C * H * W);
  cudaMalloc((void**)device_mask_ptr, sizeof(float) * M * C * K * K);
  cudaMemcpy(*device_input_ptr, host_input, sizeof(float) * B * C * H * W, cudaMemcpyHostToDevice);
  cudaMemcpy(*device_mask_ptr, host_mask, sizeof(float) * M * C * K * K, cudaMemcpyHostToDevice);
}

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}

void GPUInterface::conv_forward_gpu_epilog(float* host_output, float* device_output,
                                           float* device_input, float* device_mask, const int B,
                                           const int M, const int C, const int H, const int W,
                                           const int K) {
  cudaMemcpy(host_output, device_output, sizeof(float) * B * M * (H - K + 1) * (W - K + 1),
             cudaMemcpyDeviceToHost);
  cudaFree(device_output);
  cudaFree(device_input);
}
