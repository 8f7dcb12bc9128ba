// The kernel moves by one pixel, whatever the stride is.
//
// Runs      emulated gpu

// Case      ignores_stride
// What      The form with a stride, but the kernel moves by one pixel.
// Diagnosis E-stride

// Case      ignores_stride_fa21
// What      The form with a stride, but the kernel moves by one pixel; its edition asked no more.
// Options   --rules fa21

// End of cases
#define STEP 1
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
}
