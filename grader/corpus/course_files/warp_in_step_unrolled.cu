// What      The last warp of a reduction, unrolled, over a volatile array.
// Warns     E-warp-sync
// Batch     1
// Runs      emulated gpu
#include "parts/headers.cuh"

// one block of 64 threads for an output; classic unrolled last warp
__device__ void warpReduce(volatile float* s, int t) {
  s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
  s[t] += s[t + 4];
  s[t] += s[t + 2];
  s[t] += s[t + 1];
}
__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K) {
  __shared__ float s[64];
  int H_out = H - K + 1, W_out = W - K + 1;
  int m = blockIdx.y, b = blockIdx.z, h = blockIdx.x / W_out, w = blockIdx.x % W_out,
      t = threadIdx.x;
  float sum = 0;
  for (int i = t; i < C * K * K; i += 64) {
    int c = i / (K * K), p = i / K % K, q = i % K;
    sum += input[((b * C + c) * H + h + p) * W + w + q] * mask[((m * C + c) * K + p) * K + q];
  }
  s[t] = sum;
  __syncthreads();
  if (t < 32) warpReduce(s, t);
  if (t == 0) output[((b * M + m) * H_out + h) * W_out + w] = s[0];
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  convolve<<<dim3((H - K + 1) * (W - K + 1), M, B), 64>>>(device_output, device_input, device_mask,
                                                          B, M, C, H, W, K);
}
