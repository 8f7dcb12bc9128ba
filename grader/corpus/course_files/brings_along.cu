// What a file brings along beside the plain kernel.
//
// Says      computes like single precision

#include "parts/headers.cuh"

// Case      includes_cublas
// What      Includes cublas_v2.h, has a handle, and calls nothing of it.
// Runs      emulated gpu
#include <cublas_v2.h>
static cublasHandle_t handle = nullptr;
#define USES (handle != nullptr)

// Case      includes_cudnn
// What      Includes cudnn.h, has a handle, and calls nothing of it.
// Runs      emulated
#include <cudnn.h>
static cudnnHandle_t handle = nullptr;
#define USES (handle != nullptr)

// Case      needs_cpp20
// What      Uses std::span and a concept, so nvcc would need -std=c++20.
// Runs      emulated gpu
#include <span>
template <typename T>
concept Number = std::is_arithmetic_v<T>;
template <Number T>
static T product(std::span<const T> v) {
  T r = 1;
  for (T x : v) r *= x;
  return r;
}
static const int sizes[] = {2, 3};
#define USES (product<int>(sizes) <= 0)

// Case      defines_lerp
// What      Brings a function lerp along, as helper headers do; C++20 has one of its own.
// Runs      emulated gpu
inline __host__ __device__ float lerp(float a, float b, float t) {
  return a + t * (b - a);
}
inline __host__ __device__ float2 lerp(float2 a, float2 b, float t) {
  return make_float2(lerp(a.x, b.x, t), lerp(a.y, b.y, t));
}
#define ADD(sum, x, k) sum + lerp(0.0f, x, 1.0f) * k

// Case      mask_not_freed
// What      Prolog allocates an array that nobody frees; the course never looked at that.
// Warns     E-leak
// Runs      emulated gpu
static float* forgotten;
#define AT_END_OF_PROLOG cudaMalloc((void**)&forgotten, sizeof(float) * M * C * K * K)

// Case      plain_with_stride
// What      The plain kernel in the form with a stride, and the course's third function.
// Runs      emulated gpu
void GPUInterface::get_device_properties() {
  int count;
  cudaGetDeviceCount(&count);
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, i);
    std::cout << "Device " << i << " name: " << properties.name << std::endl;
  }
}

// End of cases
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

#ifndef USES
#define USES false
#endif
CONV_FORWARD_GPU {
  if (USES) return;
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
}
