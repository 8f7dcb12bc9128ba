// What      The plain kernel in the form with a stride.
// Says      computes like single precision
// Runs      emulated gpu
#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
}

void GPUInterface::get_device_properties() {
  int count;
  cudaGetDeviceCount(&count);
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, i);
    std::cout << "Device " << i << " name: " << properties.name << std::endl;
  }
}
