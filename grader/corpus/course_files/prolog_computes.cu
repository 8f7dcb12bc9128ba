// What      The prolog launches the kernel; conv_forward_gpu is empty.
// Diagnosis E-timed-phase-empty
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"

#define AT_END_OF_PROLOG \
  launch(*device_output_ptr, *device_input_ptr, *device_mask_ptr, B, M, C, H, W, K, 1)
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
}
