// What      A warp for each output; cooperative groups add the partial sums.
// Runs      emulated gpu
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "parts/headers.cuh"

__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K) {
  int H_out = H - K + 1, W_out = W - K + 1;
  int lane = threadIdx.x, m = blockIdx.y, b = blockIdx.z,
      at = blockIdx.x * blockDim.y + threadIdx.y;
  if (at >= H_out * W_out) return;
  int h = at / W_out, w = at % W_out;
  float sum = 0;
  for (int i = lane; i < C * K * K; i += 32) {
    int c = i / (K * K), p = i / K % K, q = i % K;
    sum += input[((b * C + c) * H + h + p) * W + w + q] * mask[((m * C + c) * K + p) * K + q];
  }
  auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  sum = cooperative_groups::reduce(tile, sum, cooperative_groups::plus<float>());
  if (lane == 0) output[((b * M + m) * H_out + h) * W_out + w] = sum;
}
#include "parts/phases.cuh"
CONV_FORWARD_GPU {
  convolve<<<dim3(((H - K + 1) * (W - K + 1) + 3) / 4, M, B), dim3(32, 4)>>>(
      device_output, device_input, device_mask, B, M, C, H, W, K);
}
