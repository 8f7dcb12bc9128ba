// Includes a header and calls nothing of it.
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

// Case      includes_matmul
// What      Includes the course's matmul.h and does not use it.
// Runs      emulated gpu
#include "matmul.h"
#define USES false

// End of cases
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  if (USES) return;
  launch(device_output, device_input, device_mask, B, M, C, H, W, K, S);
}
