// What      The weights in constant memory, as many as the network has.
// Runs      emulated gpu
#include "parts/headers.cuh"
__constant__ float weights[16 * 4 * 7 * 7];
#define ADD(sum, x, k) sum + x * weights[((m * C + c) * K + p) * K + q]
#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  cudaMemcpyToSymbol(weights, device_mask, sizeof(float) * M * C * K * K, 0,
                     cudaMemcpyDeviceToDevice);
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
