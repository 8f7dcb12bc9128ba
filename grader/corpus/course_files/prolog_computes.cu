// The prolog launches the kernel.
//
// Diagnosis E-timed-phase-empty
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"

#define AT_END_OF_PROLOG \
  launch(*device_output_ptr, *device_input_ptr, *device_mask_ptr, B, M, C, H, W, K, 1)
#include "parts/phases.cuh"

// Case      prolog_computes
// What      conv_forward_gpu is empty.
CONV_FORWARD_GPU {
}

// Case      no_convolution
// What      There is no conv_forward_gpu.
// Says      not its function that computes
