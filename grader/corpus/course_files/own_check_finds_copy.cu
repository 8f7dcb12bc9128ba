// What      Copies more into constant memory than it holds; the file's own check exits.
// Diagnosis E-cuda-call E-copy
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/own_check.cuh"
#include "parts/plain_kernel.cuh"

__constant__ float weights[49];

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  gpuCheck(cudaMemcpyToSymbol(weights, device_mask, sizeof(float) * M * C * K * K, 0,
                              cudaMemcpyDeviceToDevice));
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
