// What      4096 threads a block; the file's own check prints the error and exits.
// Diagnosis E-launch E-cuda-call
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/own_check.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  convolve<<<dim3(M, 1, B), dim3(64, 64, 1)>>>(device_output, device_input, device_mask, B, M, C, H,
                                              W, K, 1);
  gpuCheck(cudaGetLastError());
}
