// What      Each channel has its threads; their sums are added in a tree in shared memory.
// Says      computes like single precision
// Runs      emulated gpu
#include "parts/headers.cuh"

// 32 outputs and up to 8 channels a block
__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  __shared__ float part[8][32];
  const int at = blockIdx.x * 32 + threadIdx.x, c = threadIdx.y;
  float sum = 0;
  for (int p = 0; p < K && at < H_out * W_out && c < C; p++)
    for (int q = 0; q < K; q++)
      sum += input[((blockIdx.z * C + c) * H + at / W_out + p) * W + at % W_out + q] *
             mask[((blockIdx.y * C + c) * K + p) * K + q];
  part[c][threadIdx.x] = sum;
  for (int half = 4; half > 0; half /= 2) {
    __syncthreads();
    if (c < half) part[c][threadIdx.x] += part[c + half][threadIdx.x];
  }
  if (c == 0 && at < H_out * W_out)
    output[(blockIdx.z * M + blockIdx.y) * H_out * W_out + at] = part[0][threadIdx.x];
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 31) / 32, M, B), dim3(32, 8)>>>(device_output, device_input,
                                                            device_mask, M, C, H, W, K);
}
