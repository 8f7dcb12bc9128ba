// What      Tensor cores with halves, one warp a block.
// Says      computes like fp16 inputs with single-precision sums
// Runs      emulated gpu
#include <cuda_fp16.h>
#include <mma.h>

#include <cmath>

#include "gpu-new-forward.h"

using namespace nvcuda;

// A warp computes 16 maps of 16 outputs: weights (16 maps x 16 taps) times windows (16 taps x 16).
__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  __shared__ half a[16 * 16];
  __shared__ half b[16 * 16];
  __shared__ float c[16 * 16];
  const int H_out = H - K + 1, W_out = W - K + 1, taps = C * K * K;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int first = 0; first < taps; first += 16) {
    for (int i = threadIdx.x; i < 16 * 16; i += 32) {
      const int m = i / 16, tap = first + i % 16;
      a[i] = __float2half(m < M && tap < taps ? mask[m * taps + tap] : 0.0f);
      const int window = first + i / 16, at = blockIdx.x * 16 + i % 16;
      const bool inside = window < taps && at < H_out * W_out;
      const int row = at / W_out + window / K % K, column = at % W_out + window % K;
      b[i] = __float2half(
          inside ? input[((blockIdx.y * C + window / (K * K)) * H + row) * W + column] : 0.0f);
    }
    __syncwarp();
    wmma::load_matrix_sync(a_part, a, 16);
    wmma::load_matrix_sync(b_part, b, 16);
    wmma::mma_sync(sums, a_part, b_part, sums);
    __syncwarp();
  }
  wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 16 * 16; i += 32) {
    const int m = i / 16, at = blockIdx.x * 16 + i % 16;
    if (m < M && at < H_out * W_out) output[(blockIdx.y * M + m) * H_out * W_out + at] = c[i];
  }
}

#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 15) / 16, B), 32>>>(device_output, device_input, device_mask, M, C, H,
                                                W, K);
}
