// What      The batch must be a multiple of the streams, as the course's batches are.
// Batch     8
// Says      first miss
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K) {
  cudaStream_t streams[4];
  for (int i = 0; i < 4; i++) {
    cudaStreamCreate(&streams[i]);
    const int tiles = ceil((H - K + 1) / 1.0 / TILE) * ceil((W - K + 1) / 1.0 / TILE);
    convolve<<<dim3(M, tiles, B / 4), dim3(TILE, TILE, 1), 0, streams[i]>>>(
        device_output + (size_t)i * (B / 4) * M * (H - K + 1) * (W - K + 1),
        device_input + (size_t)i * (B / 4) * C * H * W, device_mask, B / 4, M, C, H, W, K, 1);
  }
  for (int i = 0; i < 4; i++) {
    cudaStreamSynchronize(streams[i]);
    cudaStreamDestroy(streams[i]);
  }
}
