// The file's own check finds an error, prints it and exits.
//
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/own_check.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

__constant__ float weights[49];

__global__ void write_far(float* output) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  output[(size_t)at * 100000] = 1.0f;
}

CONV_FORWARD_GPU {
  // Case      own_check_finds_launch
  // What      4096 threads a block.
  // Diagnosis E-launch E-cuda-call
  convolve<<<dim3(M, 1, B), dim3(64, 64, 1)>>>(device_output, device_input, device_mask, B, M, C, H,
                                              W, K, 1);
  gpuCheck(cudaGetLastError());

  // Case      own_check_finds_copy
  // What      Copies more into constant memory than it holds.
  // Diagnosis E-cuda-call E-copy
  gpuCheck(cudaMemcpyToSymbol(weights, device_mask, sizeof(float) * M * C * K * K, 0,
                              cudaMemcpyDeviceToDevice));
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);

  // Case      own_check_finds_outside
  // What      Writes far beyond the output.
  // Diagnosis E-outside
  write_far<<<64, 256>>>(device_output);
  gpuCheck(cudaGetLastError());
  gpuCheck(cudaDeviceSynchronize());
  // End of cases
}
