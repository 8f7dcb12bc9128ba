// A complete program to read: adds two arrays on a GPU. Nothing is missing here.
//
//     cmake --build --preset lab --target vector-add && build/bin/vector-add
//
// Every program that uses a GPU has these five steps.

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/device/cuda_check.cuh"

// A kernel: __global__ says that the GPU runs it and the host launches it. Thousands of threads run
// this function at once, each for one element. It returns nothing.
__global__ void add(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // block 2, thread 5 of 256: element 517
  if (i < count) sum[i] = a[i] + b[i];                  // the last block has threads too many
}

int main() {
  const int count = 1000;
  const std::size_t bytes = count * sizeof(float);  // CUDA counts bytes
  std::vector<float> a(count, 1.5f);
  std::vector<float> b(count, 2.0f);
  std::vector<float> sum(count);

  // 1. Reserve memory on the device. cudaMalloc writes the address into the pointer, therefore &.
  //    CONVLAB_CUDA_CHECK reads the error code that every call returns: without it nobody does.
  float* device_a = nullptr;
  float* device_b = nullptr;
  float* device_sum = nullptr;
  CONVLAB_CUDA_CHECK(cudaMalloc(&device_a, bytes));
  CONVLAB_CUDA_CHECK(cudaMalloc(&device_b, bytes));
  CONVLAB_CUDA_CHECK(cudaMalloc(&device_sum, bytes));

  // 2. Copy the numbers there. The order is: to, from, bytes, direction.
  CONVLAB_CUDA_CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CONVLAB_CUDA_CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

  // 3. Launch: <<<blocks, threads in a block>>>. A dim3 holds up to three dimensions, x, y and z;
  //    what is not named is 1. The arguments are device pointers and plain numbers.
  const dim3 block(256);
  const dim3 grid((count + 255) / 256);  // rounded up: 4 blocks, 1024 threads
  add<<<grid, block>>>(device_a, device_b, device_sum, count);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);  // a launch returns no code of its own

  // 4. Copy the result back. This copy waits until the kernel has finished.
  CONVLAB_CUDA_CHECK(cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost));

  // 5. Free the memory.
  CONVLAB_CUDA_CHECK(cudaFree(device_a));
  CONVLAB_CUDA_CHECK(cudaFree(device_b));
  CONVLAB_CUDA_CHECK(cudaFree(device_sum));

  std::printf("sum[0] = %g, sum[%d] = %g\n", static_cast<double>(sum[0]), count - 1,
              static_cast<double>(sum[count - 1]));
  return 0;
}
