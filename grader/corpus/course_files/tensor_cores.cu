// One warp a block works on tensor cores.
//
// Runs      emulated gpu

// Case      tensor_cores_half
// What      Tensor cores with halves, one warp a block.
// Says      computes like fp16 inputs with single-precision sums

// Case      half_in_the_final_task
// What      The same, handed in for the task that allows no half precision.
// Options   --rules sp26-final
// Diagnosis E-course-rule
// Says      no-half: it computes like fp16

// Case      tensor_cores_tf32
// What      Tensor cores with TF32, one warp a block.
// Says      computes like TF32 inputs with single-precision sums
#define TAPS 8
#define NUMBER float
#define FACTOR wmma::precision::tf32
#define ROUNDED wmma::__float_to_tf32

// Case      tensor_cores_tf32_unrounded
// What      Tensor cores with TF32; nobody rounds the numbers, so the cores cut their low bits off.
// Says      computes like TF32 inputs, cut off instead of rounded
#define TAPS 8
#define NUMBER float
#define FACTOR wmma::precision::tf32
#define ROUNDED

// Case      warp_in_step_tables
// What      Tensor cores with halves; lanes read tables that others of the warp have just filled.
// Warns     E-warp-sync
// Batch     1
// Says      computes like fp16 inputs with single-precision sums
#define MEET

// Case      warp_in_step_workbook
// What      The same tables by the rules of the workbook.
// Diagnosis E-warp-sync
// Options   --rules workbook --precision fp16
#define MEET

// End of cases
#include <cuda_fp16.h>
#include <mma.h>

#include "gpu-new-forward.h"

using namespace nvcuda;

#ifndef TAPS
#define TAPS 16
#define NUMBER half
#define FACTOR half
#define ROUNDED __float2half
#endif
#ifndef MEET
#define MEET __syncwarp()
#endif

// A warp computes 16 maps of 16 outputs: weights (16 maps x TAPS) times windows (TAPS x 16). The
// first lanes fill the tables that all lanes read.
__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  __shared__ NUMBER a[16 * TAPS];
  __shared__ NUMBER b[TAPS * 16];
  __shared__ float c[16 * 16];
  __shared__ int tap_offset[TAPS];
  __shared__ int output_offset[16];
  const int H_out = H - K + 1, W_out = W - K + 1, taps = C * K * K;
  const int lane = threadIdx.x;
  const float* image = input + blockIdx.y * C * H * W;
  if (lane < 16) {
    const int at = blockIdx.x * 16 + lane;
    output_offset[lane] = at < H_out * W_out ? at / W_out * W + at % W_out : -1;
  }
  wmma::fragment<wmma::matrix_a, 16, 16, TAPS, FACTOR, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, TAPS, FACTOR, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, TAPS, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int first = 0; first < taps; first += TAPS) {
    if (lane < TAPS) {
      const int tap = first + lane;
      tap_offset[lane] = tap < taps ? tap / (K * K) * H * W + tap / K % K * W + tap % K : -1;
    }
    MEET;
    for (int i = lane; i < 16 * TAPS; i += 32) {
      const int m = i / TAPS, tap = first + i % TAPS;
      a[i] = ROUNDED(m < M && tap < taps ? mask[m * taps + tap] : 0.0f);
      const int from = tap_offset[i / 16], to = output_offset[i % 16];
      b[i] = ROUNDED(from >= 0 && to >= 0 ? image[from + to] : 0.0f);
    }
    MEET;
    wmma::load_matrix_sync(a_part, a, TAPS);
    wmma::load_matrix_sync(b_part, b, 16);
    wmma::mma_sync(sums, a_part, b_part, sums);
    MEET;
  }
  wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
  MEET;
  for (int i = lane; i < 16 * 16; i += 32) {
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
