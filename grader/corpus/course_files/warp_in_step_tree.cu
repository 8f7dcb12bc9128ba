// What      Partial sums of a warp, added in a tree without __syncwarp().
// Warns     E-warp-sync
// Batch     1
// Runs      emulated gpu
#include "parts/headers.cuh"

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  __shared__ volatile float part[8][32];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int at = blockIdx.x * 8 + warp;
  if (at >= H_out * W_out) return;
  float sum = 0;
  for (int tap = lane; tap < C * K * K; tap += 32) {
    const int row = at / W_out + tap / K % K, column = at % W_out + tap % K;
    sum += input[((blockIdx.z * C + tap / (K * K)) * H + row) * W + column] *
           mask[blockIdx.y * C * K * K + tap];
  }
  part[warp][lane] = sum;
  for (int step = 16; step > 0; step /= 2)
    if (lane < step) part[warp][lane] = part[warp][lane] + part[warp][lane + step];
  if (lane == 0) output[(blockIdx.z * M + blockIdx.y) * H_out * W_out + at] = part[warp][0];
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 7) / 8, M, B), dim3(32, 8)>>>(device_output, device_input, device_mask,
                                                          M, C, H, W, K);
}
