// Written for a header from before phases took arrays of the host as const.
//
// Says      computes like single precision
// Runs      emulated gpu

// Case      older_header
// What      Written for an older header, whose output array of the host is not const.
#define ARRAY const float*

// Case      oldest_header
// What      Written for a header in which no array is const.
#define ARRAY float*

// End of cases
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
void GPUInterface::conv_forward_gpu_prolog(float* host_y, ARRAY host_x, ARRAY host_k,
                                           float** device_y_ptr, float** device_x_ptr,
                                           float** device_k_ptr, const int B, const int M,
                                           const int C, const int H, const int W, const int K) {
  cudaMalloc(device_y_ptr, sizeof(float) * B * M * (H - K + 1) * (W - K + 1));
  cudaMalloc(device_x_ptr, sizeof(float) * B * C * H * W);
  cudaMalloc(device_k_ptr, sizeof(float) * M * C * K * K);
  cudaMemcpy(*device_x_ptr, host_x, sizeof(float) * B * C * H * W, cudaMemcpyHostToDevice);
  cudaMemcpy(*device_k_ptr, host_k, sizeof(float) * M * C * K * K, cudaMemcpyHostToDevice);
}

void GPUInterface::conv_forward_gpu(float* device_output, ARRAY device_input, ARRAY device_mask,
                                    const int B, const int M, const int C, const int H, const int W,
                                    const int K) {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}

void GPUInterface::conv_forward_gpu_epilog(float* host_y, float* device_y, float* device_x,
                                           float* device_k, const int B, const int M, const int C,
                                           const int H, const int W, const int K) {
  cudaMemcpy(host_y, device_y, sizeof(float) * B * M * (H - K + 1) * (W - K + 1),
             cudaMemcpyDeviceToHost);
  cudaFree(device_y);
  cudaFree(device_x);
  cudaFree(device_k);
}
