// The course's oldest interface: one function with arrays of the host.
#include "gpu-new-forward.h"

__global__ void convolve(float* y, const float* x, const float* k, int M, int C, int H, int W,
                         int K) {
  const int w = blockIdx.x * 16 + threadIdx.x, h = blockIdx.y * 16 + threadIdx.y;
  const int m = blockIdx.z % M, b = blockIdx.z / M, H_out = H - K + 1, W_out = W - K + 1;
  if (h >= H_out || w >= W_out) return;
  float sum = 0.0f;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += x[((b * C + c) * H + h + p) * W + w + q] * k[((m * C + c) * K + p) * K + q];
  y[((b * M + m) * H_out + h) * W_out + w] = sum;
}

void GPUInterface::conv_forward_gpu(float* host_y, const float* host_x, const float* host_k,
                                    const int B, const int M, const int C, const int H, const int W,
                                    const int K) {
  float *y, *x, *k;
  const size_t y_bytes = sizeof(float) * B * M * (H - K + 1) * (W - K + 1);
  const size_t x_bytes = sizeof(float) * B * C * H * W, k_bytes = sizeof(float) * M * C * K * K;
  cudaMalloc(&y, y_bytes), cudaMalloc(&x, x_bytes), cudaMalloc(&k, k_bytes);
  cudaMemcpy(x, host_x, x_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(k, host_k, k_bytes, cudaMemcpyHostToDevice);
  convolve<<<dim3((W - K + 16) / 16, (H - K + 16) / 16, B * M), dim3(16, 16)>>>(y, x, k, M, C, H, W,
                                                                                K);
  cudaMemcpy(host_y, y, y_bytes, cudaMemcpyDeviceToHost);
  cudaFree(y), cudaFree(x), cudaFree(k);
}
