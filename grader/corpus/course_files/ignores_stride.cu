// The kernel moves by one pixel, whatever the stride is.
//
// Runs      emulated gpu

// Case      ignores_stride
// What      The form with a stride, but the kernel moves by one pixel.
// Diagnosis E-stride

// Case      ignores_stride_fa21
// What      The form with a stride, but the kernel moves by one pixel; its edition asked no more.
// Options   --rules fa21

// End of cases
#include "parts/headers.cuh"

__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K, int S) {
  const int H_out = (H - K) / S + 1, W_out = (W - K) / S + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= H_out * W_out) return;
  const int h = at / W_out, w = at % W_out;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((blockIdx.z * C + c) * H + h + p) * W + w + q] *
               mask[((blockIdx.y * C + c) * K + p) * K + q];
  output[((blockIdx.z * M + blockIdx.y) * H_out + h) * W_out + w] = sum;
}

#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  const int outputs = ((H - K) / S + 1) * ((W - K) / S + 1);
  convolve<<<dim3((outputs + 255) / 256, M, B), 256>>>(device_output, device_input, device_mask, B,
                                                      M, C, H, W, K, S);
}
