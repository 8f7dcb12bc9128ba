// Each channel adds to the output.
//
// Runs      emulated gpu

// Case      atomics_over_channels
// What      Each channel adds to the output, which is cleared first.
// Says      computes like single precision
#define CLEARED cudaMemset(device_output, 0, OUTPUT_BYTES)

// Case      atomics_without_clearing
// What      Each channel adds to an output that nobody cleared.
// Diagnosis E-uninitialised E-unwritten-memory E-nan
#define CLEARED

// Case      atomics_cleared_in_prolog
// What      Adds to an output that prolog clears: right when called once.
#define CLEARED
#define AT_END_OF_PROLOG cudaMemset(*device_output_ptr, 0, OUTPUT_BYTES)

// Case      kernel_in_prolog_of_the_final_task
// What      A kernel runs in the prolog; the task wants all of them in conv_forward_gpu.
// Options   --rules sp26-final
// Diagnosis E-course-rule
// Says      kernels-in-convolve: prolog launches 1 kernel
#define CLEARED cudaMemset(device_output, 0, OUTPUT_BYTES)
#define AT_END_OF_PROLOG nothing<<<1, 1>>>()

// Case      no_tiles_in_the_ranked_run
// What      Multiplies straight from global memory, which the ranked run does not allow.
// Options   --rules sp26-m2-fused --competition
// Diagnosis E-course-rule
// Says      tiled-product: it multiplies neither
#define CLEARED cudaMemset(device_output, 0, OUTPUT_BYTES)

// End of cases
#include "parts/headers.cuh"

__global__ void nothing() {}

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= H_out * W_out) return;
  const int m = blockIdx.y / C, c = blockIdx.y % C;
  float sum = 0;
  for (int p = 0; p < K; p++)
    for (int q = 0; q < K; q++)
      sum += input[((blockIdx.z * C + c) * H + at / W_out + p) * W + at % W_out + q] *
             mask[((m * C + c) * K + p) * K + q];
  atomicAdd(&output[(blockIdx.z * M + m) * H_out * W_out + at], sum);
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  CLEARED;
  const int outputs = (H - K + 1) * (W - K + 1);
  convolve<<<dim3((outputs + 255) / 256, M * C, B), 256>>>(device_output, device_input, device_mask,
                                                          M, C, H, W, K);
}
