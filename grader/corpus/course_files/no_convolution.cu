// What      Everything happens in the prolog; there is no conv_forward_gpu.
// Diagnosis E-timed-phase-empty
// Says      not its function that computes
// Runs      emulated gpu
#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"

#include "parts/plain_kernel.cuh"

#define AT_END_OF_PROLOG \
  launch(*device_output_ptr, *device_input_ptr, *device_mask_ptr, B, M, C, H, W, K, 1)
#include "parts/phases.cuh"
