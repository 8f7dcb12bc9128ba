// What      Prints shapes and properties of the device in each call, and checks each for errors.
// Says      computes like single precision
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/own_check.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  cudaDeviceProp properties;
  gpuCheck(cudaGetDeviceProperties(&properties, 0));
  std::cout << "B=" << B << " M=" << M << " C=" << C << " H=" << H << " W=" << W << " K=" << K
            << " on " << properties.name << std::endl;
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
  gpuCheck(cudaGetLastError());
  gpuCheck(cudaDeviceSynchronize());
}
