// What      The oldest form: one function gets arrays of the host and does everything.
// Says      computes like single precision
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
void GPUInterface::conv_forward_gpu(float* host_y, const float* host_x, const float* host_k,
                                    const int B, const int M, const int C, const int H, const int W,
                                    const int K) {
  float *y, *x, *k;
  const size_t y_bytes = sizeof(float) * B * M * (H - K + 1) * (W - K + 1);
  cudaMalloc(&y, y_bytes);
  cudaMalloc(&x, sizeof(float) * B * C * H * W);
  cudaMalloc(&k, sizeof(float) * M * C * K * K);
  cudaMemcpy(x, host_x, sizeof(float) * B * C * H * W, cudaMemcpyHostToDevice);
  cudaMemcpy(k, host_k, sizeof(float) * M * C * K * K, cudaMemcpyHostToDevice);
  launch(y, x, k, B, M, C, H, W, K, 1);
  cudaMemcpy(host_y, y, y_bytes, cudaMemcpyDeviceToHost);
  cudaFree(y);
  cudaFree(x);
  cudaFree(k);
}
