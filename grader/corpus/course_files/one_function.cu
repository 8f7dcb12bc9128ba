// One function gets arrays of the host and does everything.
//
// Says      computes like single precision
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"

// Case      one_function
// What      The oldest form of the course.
#define ONE_FUNCTION GPUInterface::conv_forward_gpu

// Case      one_function_of_another_course
// What      The same by the name that another course gives it, on its network.
// Options   --rules csc14120
#define ONE_FUNCTION GPUInterface::conv_forward_gpu_full

// Case      one_function_without_class
// What      The same outside a class.
// Options   --rules csc14120
// Batch     100
#define ONE_FUNCTION conv_forward_gpu_full

// Case      one_function_without_const
// What      The same for arrays of the host that are not const.
// Options   --rules csc14120
// Batch     100
#define ONE_FUNCTION conv_forward_gpu_full
#define ARRAY float*

// End of cases
#ifndef ARRAY
#define ARRAY const float*
#endif
void ONE_FUNCTION(float* host_y, ARRAY host_x, ARRAY host_k, const int B, const int M,
                  const int C, const int H, const int W, const int K) {
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
