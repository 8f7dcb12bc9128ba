// What surrounds the launch of the plain kernel in the form with a stride.
//
// Runs      emulated gpu

#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  // Case      ceil_in_both
  // What      ceil of two whole numbers, for rows and for columns.
  // Diagnosis E-partly-written
  // Says      ceil(Ho / TILE)
  int Ho = (H - K) / S + 1, Wo = (W - K) / S + 1;
  dim3 g(M, ceil(Ho / TILE) * ceil(Wo / TILE), B);
  convolve<<<g, dim3(TILE, TILE, 1)>>>(device_output, device_input, device_mask, B, M, C, H, W, K,
                                       S);

  // End of cases
}
