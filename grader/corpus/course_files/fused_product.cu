// What      Unrolling and product in one kernel, four rows a thread in registers.
// Options   --rules sp26-m2-fused --competition
// Says      calls on the same buffers after
// Runs      emulated gpu
#include "parts/headers.cuh"

// fused im2col + matmul: 64 columns of the unrolled input a block, each thread M/4 rows
#define TN 64
#define TK 16
#define TM 16
__global__ void __launch_bounds__(256, 2)
    fused(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ mask,
          int B, int M, int C, int H, int W, int K) {
  __shared__ float A[TM][TK + 1];
  __shared__ float X[TK][TN];
  const int H_out = H - K + 1, W_out = W - K + 1, pixels = H_out * W_out, taps = C * K * K;
  const int tx = threadIdx.x % TN, ty = threadIdx.x / TN, b = blockIdx.z, m0 = blockIdx.y * TM;
  const int col = blockIdx.x * TN + tx;
  float acc[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < taps; k0 += TK) {
    int am = threadIdx.x / TK, ak = threadIdx.x % TK;
    A[am][ak] = (m0 + am < M && k0 + ak < taps) ? mask[(m0 + am) * taps + k0 + ak] : 0.0f;
#pragma unroll
    for (int i = ty; i < TK; i += 4) {
      int k = k0 + i, c = k / (K * K), p = k % (K * K) / K, q = k % K;
      X[i][tx] = (k < taps && col < pixels)
                     ? in[((b * C + c) * H + col / W_out + p) * W + col % W_out + q]
                     : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TK; k++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc[i] += A[ty * 4 + i][k] * X[k][tx];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    if (m0 + ty * 4 + i < M && col < pixels)
      out[((size_t)b * M + m0 + ty * 4 + i) * pixels + col] = acc[i];
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  const int pixels = (H - K + 1) * (W - K + 1);
  fused<<<dim3((pixels + TN - 1) / TN, (M + TM - 1) / TM, B), 256>>>(device_output, device_input,
                                                                     device_mask, B, M, C, H, W, K);
}
