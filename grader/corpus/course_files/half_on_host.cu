// The host rounds input and weights to half in the prolog, as files of 2024 do.
//
// Runs      emulated gpu

// Case      half_on_host
// What      Kernels compute with the halves; the prolog's time is not the op time.
// Options   --rules fa24-op-5
// Warns     E-converted
// Says      computes like fp16 inputs with single-precision sums
#define NUMBERS __half

// Case      half_on_host_refused
// What      The same where the input must stay as it is.
// Options   --refuse E-converted
// Diagnosis E-no-kernel E-converted
#define NUMBERS __half

// Case      host_computes_in_epilog
// What      Kernels compute nothing; the epilog does, with copies that the prolog kept.
// Options   --rules fa24-op-5
// Diagnosis E-no-kernel E-timed-phase-empty
#define NUMBERS float
#define AT_END_OF_EPILOG compute(host_output, B, M, C, H, W, K)

// End of cases
#include <cuda_fp16.h>

#include <vector>

#include "parts/headers.cuh"

static std::vector<float> kept[2];

template <class Number>
__global__ void convolve(float* output, const Number* input, const Number* mask, int M, int C,
                         int H, int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= H_out * W_out) return;
  const int m = blockIdx.y, b = blockIdx.z;
  float sum = 0;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += float(input[((b * C + c) * H + at / W_out + p) * W + at % W_out + q]) *
               float(mask[((m * C + c) * K + p) * K + q]);
  output[(b * M + m) * H_out * W_out + at] = sum;
}

[[maybe_unused]] static void compute(float* y, int B, int M, int C, int H, int W, int K) {
  const float *x = kept[0].data(), *k = kept[1].data();
  const int H_out = H - K + 1, W_out = W - K + 1;
  for (int i = 0; i < B * M * H_out * W_out; i++) {
    const int b = i / (M * H_out * W_out), m = i / (H_out * W_out) % M;
    y[i] = 0;
    for (int c = 0; c < C; c++)
      for (int p = 0; p < K; p++)
        for (int q = 0; q < K; q++)
          y[i] += x[((b * C + c) * H + i / W_out % H_out + p) * W + i % W_out + q] *
                  k[((m * C + c) * K + p) * K + q];
  }
}

static float* rounded(const float* from, int n, int which) {
  kept[which].assign(from, from + n);
  std::vector<NUMBERS> host(n);
  for (int i = 0; i < n; i++) host[i] = sizeof(NUMBERS) == 4 ? NUMBERS(1.0f) : NUMBERS(from[i]);
  float* device;
  cudaMalloc((void**)&device, sizeof(NUMBERS) * n);
  cudaMemcpy(device, host.data(), sizeof(NUMBERS) * n, cudaMemcpyHostToDevice);
  return device;
}

#define AT_END_OF_PROLOG                                 \
  cudaFree(*device_input_ptr);                           \
  cudaFree(*device_mask_ptr);                            \
  *device_input_ptr = rounded(host_input, B * C * H * W, 0); \
  *device_mask_ptr = rounded(host_mask, M * C * K * K, 1)
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 255) / 256, M, B), 256>>>(
      device_output, (const NUMBERS*)device_input, (const NUMBERS*)device_mask, M, C, H, W, K);
}
