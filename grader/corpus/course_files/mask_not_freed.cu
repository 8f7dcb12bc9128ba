// What      Prolog allocates an array that nobody frees; the course never looked at that.
// Warns     E-leak
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"

static float* forgotten;
#define AT_END_OF_PROLOG cudaMalloc((void**)&forgotten, sizeof(float) * M * C * K * K)
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
