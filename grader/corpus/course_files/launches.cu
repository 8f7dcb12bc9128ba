// What surrounds the launch of the plain kernel.
//
// Runs      emulated gpu

#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  // Case      ceil_of_integers
  // What      ceil(W_out / TILE) rounds down before it rounds up.
  // Diagnosis E-rounded-down
  const int tiles_high = ceil((H - K + 1) / TILE), tiles_wide = ceil((W - K + 1) / TILE);
  convolve<<<dim3(M, tiles_high * ((W - K + TILE) / TILE), B), dim3(TILE, TILE, 1)>>>(
      device_output, device_input, device_mask, B, M, C, H, W, K, 1);
  if (tiles_wide == 0) std::cout << "no tiles" << std::endl;

  // Case      exits_by_itself
  // What      Ends the program without an error of CUDA.
  // Diagnosis E-exit
  if (B > 0) exit(0);
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);

  // Case      host_reads_device_memory
  // What      The host looks at the first output on the device, to print it.
  // Diagnosis E-device-pointer
  // Runs      emulated
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
  cudaDeviceSynchronize();
  std::cout << "first output " << device_output[0] << std::endl;

  // Case      plain_without_stride
  // What      The plain kernel in the form without a stride.
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, 1);
  // End of cases
}
