// The plain kernel, launched in the form without a stride.
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
}
