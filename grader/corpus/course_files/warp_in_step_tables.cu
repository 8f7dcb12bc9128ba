// Lanes read tables that others of their warp fill.
//
// Runs      emulated gpu

// Case      warp_in_step_tables
// What      Tensor cores with halves; lanes read tables that others of the warp have just filled.
// Warns     E-warp-sync
// Batch     1
// Says      computes like fp16 inputs with single-precision sums

// Case      warp_in_step_workbook
// What      The same tables by the rules of the workbook.
// Diagnosis E-warp-sync
// Options   --rules workbook --precision fp16

// End of cases
#include <cuda_fp16.h>
#include <mma.h>

#include "gpu-new-forward.h"

using namespace nvcuda;

// A warp computes 16 maps of 16 outputs. Lanes 0 to 15 fill the tables that all lanes read at once.
__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  __shared__ half a[16 * 16];
  __shared__ half b[16 * 16];
  __shared__ float c[16 * 16];
  __shared__ int tap_offset[16];
  __shared__ int output_offset[16];
  const int H_out = H - K + 1, W_out = W - K + 1, taps = C * K * K;
  const int lane = threadIdx.x;
  const float* image = input + blockIdx.y * C * H * W;
  if (lane < 16) {
    const int at = blockIdx.x * 16 + lane;
    output_offset[lane] = at < H_out * W_out ? at / W_out * W + at % W_out : -1;
  }
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int first = 0; first < taps; first += 16) {
    if (lane < 16) {
      const int tap = first + lane;
      tap_offset[lane] = tap < taps ? tap / (K * K) * H * W + tap / K % K * W + tap % K : -1;
    }
    for (int i = lane; i < 256; i += 32) {
      const int m = i / 16, tap = first + i % 16;
      a[i] = __float2half(m < M && tap < taps ? mask[m * taps + tap] : 0.0f);
      const int from = tap_offset[i / 16], to = output_offset[i % 16];
      b[i] = __float2half(from >= 0 && to >= 0 ? image[from + to] : 0.0f);
    }
    wmma::load_matrix_sync(a_part, a, 16);
    wmma::load_matrix_sync(b_part, b, 16);
    wmma::mma_sync(sums, a_part, b_part, sums);
  }
  wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
  for (int i = lane; i < 256; i += 32) {
    const int m = i / 16, at = blockIdx.x * 16 + i % 16;
    if (m < M && at < H_out * W_out) output[(blockIdx.y * M + m) * H_out * W_out + at] = c[i];
  }
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 15) / 16, B), 32>>>(device_output, device_input, device_mask, M, C, H,
                                                W, K);
}
