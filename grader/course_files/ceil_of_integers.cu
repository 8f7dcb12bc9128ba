// What      ceil(W_out / TILE) rounds down before it rounds up.
// Diagnosis E-rounded-down
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  const int tiles_high = ceil((H - K + 1) / TILE), tiles_wide = ceil((W - K + 1) / TILE);
  convolve<<<dim3(M, tiles_high * ((W - K + TILE) / TILE), B), dim3(TILE, TILE, 1)>>>(
      device_output, device_input, device_mask, B, M, C, H, W, K, 1);
  if (tiles_wide == 0) std::cout << "no tiles" << std::endl;
}
