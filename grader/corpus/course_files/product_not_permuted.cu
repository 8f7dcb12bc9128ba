// What      Multiplies the whole batch at once, and leaves the product with maps before images.
// Diagnosis E-output-order
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "matmul.h"

#define PERMUTE_BLOCK_SIZE 256
__global__ void matrix_unrolling_kernel(const float* input, float* output, const int Batch,
                                        const int Channel, const int Height, const int Width,
                                        const int K) {
  const int Height_out = Height - K + 1, Width_out = Width - K + 1;
  size_t W_unroll = (size_t)Batch * Height_out * Width_out;
  size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (t >= W_unroll * Channel) return;
  int c = t / W_unroll;
  size_t s = t % W_unroll;
  int b = s / (Height_out * Width_out), h = s / Width_out % Height_out, w = s % Width_out;
  for (int p = 0; p < K; p++)
    for (int q = 0; q < K; q++)
      output[(size_t)(c * K * K + p * K + q) * W_unroll + s] =
          input[((b * Channel + c) * Height + h + p) * Width + w + q];
}
__global__ void matrix_permute_kernel(const float* input, float* output, int Map_out, int Batch,
                                      int image_size) {
  int b = blockIdx.y;
  int x = blockIdx.x * PERMUTE_BLOCK_SIZE + threadIdx.x;
  if (x < image_size)
    for (int m = 0; m < Map_out; m++)
      output[b * Map_out * image_size + m * image_size + x] =
          input[m * Batch * image_size + b * image_size + x];
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  const int Height_out = H - K + 1, Width_out = W - K + 1, Height_unrolled = C * K * K,
            Width_unrolled = B * Height_out * Width_out;
  float* unrolled_matrix;
  float* matmul_output;
  cudaMalloc((void**)&unrolled_matrix,
             (size_t)B * C * K * K * Height_out * Width_out * sizeof(float));
  cudaMalloc((void**)&matmul_output, (B * M * Height_out * Width_out) * sizeof(float));
  matrix_unrolling_kernel<<<ceil(1.0 * C * Width_unrolled / 512), 512>>>(
      device_input, unrolled_matrix, B, C, H, W, K);
  dim3 grid((Width_unrolled - 1) / MATMUL_TILE_WIDTH + 1, (M - 1) / MATMUL_TILE_WIDTH + 1, 1),
      block(MATMUL_TILE_WIDTH, MATMUL_TILE_WIDTH, 1);
  matrixMultiplyShared<<<grid, block>>>(device_mask, unrolled_matrix, matmul_output, M,
                                        Height_unrolled, Height_unrolled, Width_unrolled, M,
                                        Width_unrolled);
  const int out_image_size = Height_out * Width_out;
  dim3 permute_kernel_grid_dim((out_image_size - 1) / PERMUTE_BLOCK_SIZE + 1, B, 1);
  if (0)
    matrix_permute_kernel<<<permute_kernel_grid_dim, PERMUTE_BLOCK_SIZE>>>(
        matmul_output, matmul_output, M, B, out_image_size);
  cudaMemcpy(device_output, matmul_output, (B * M * Height_out * Width_out) * sizeof(float),
             cudaMemcpyDeviceToDevice);
  cudaFree(matmul_output);
  cudaFree(unrolled_matrix);
}
