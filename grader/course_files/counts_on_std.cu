// What      Writes cout and endl without std::, and includes nothing but the course's header.
// Says      computes like single precision
// Runs      emulated gpu
#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

void GPUInterface::conv_forward_gpu(float* device_output, const float* device_input,
                                    const float* device_mask, const int B, const int M, const int C,
                                    const int H, const int W, const int K, const int S) {
  cout << "Batch " << B << ", maps " << M << endl;
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
}
