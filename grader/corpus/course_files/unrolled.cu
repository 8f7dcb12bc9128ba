// The input is unrolled for the whole batch, multiplied with the weights and put in order.

#include "parts/headers.cuh"

// Case      unrolls_and_multiplies
// What      Unrolls the input and multiplies with the kernel of the course's matmul.h.
// Options   --rules fa25-m2-unroll
// Says      8/8 points for fa25-m2-unroll
// Runs      emulated gpu
#include "matmul.h"

// Case      index_of_the_matrix_in_int
// What      Right up to 6847 images: then an index of the unrolled input is beyond an int.
// Options   --rules fa25-m2-unroll
// Diagnosis E-overflow
// Says      34 * 64000000 does not fit into `int`
// Runs      emulated gpu
#include "matmul.h"
#define WIDE int

// Case      size_of_the_matrix_in_int
// What      The host computes the elements of the unrolled input in int.
// Options   --rules fa25-m2-unroll
// Diagnosis E-overflow
// Says      49 * 64000000 does not fit into `int`
// Runs      emulated gpu
#include "matmul.h"
#define MATRIX_BYTES (sizeof(float) * (rows * columns))

// Case      unused_product_in_int
// What      A product beyond an int at 10 000 images, which nothing uses: told, but not refused.
// Options   --rules fa25-m2-unroll
// Warns     E-overflow
// Says      PASSED SO FAR
// Runs      emulated
#include "matmul.h"
#define MATRIX_BYTES (sizeof(float) * rows * columns + (rows * columns == 1))

// Case      defines_matmul_for_the_task
// What      A kernel of its own in place of that of matmul.h, which the task forbids.
// Options   --rules fa25-m2-unroll
// Diagnosis E-course-rule
// Says      matmul: its output does not come from
// Runs      emulated gpu
#define OWN_MATMUL

// Case      own_product_in_first_layer
// What      Only the second layer multiplies with the kernel of matmul.h.
// Options   --rules fa25-m2-unroll
// Diagnosis E-course-rule
// Says      matmul: its output does not come from
// Runs      emulated gpu
#include "matmul.h"
#define OWN_PRODUCT_IF C == 1

// Case      defines_matmul
// What      Includes matmul.h and defines a kernel of that name itself.
// Says      computes like single precision
// Runs      emulated gpu
#include "matmul.h"
#define OWN_MATMUL

// Case      product_not_permuted
// What      Leaves the product of the whole batch with maps before images.
// Diagnosis E-output-order
// Runs      emulated gpu
#include "matmul.h"
#define NOT_PERMUTED

// Case      calls_cublas
// What      Multiplies with cuBLAS, which nobody allowed.
// Diagnosis E-library
// Runs      emulated gpu
#include <cublas_v2.h>
#define USES_CUBLAS

// Case      calls_cublas_allowed
// What      Multiplies with cuBLAS, which the instructor allows.
// Options   --allow-library cublas
// Runs      gpu
#include <cublas_v2.h>
#define USES_CUBLAS

// End of cases
#ifndef WIDE
#define WIDE size_t
#endif
#ifndef MATRIX_BYTES
#define MATRIX_BYTES (sizeof(float) * rows * columns)
#endif
#ifndef OWN_PRODUCT_IF
#define OWN_PRODUCT_IF false
#endif
#ifdef OWN_MATMUL
#include "matmul.h"
#define plain_product matrixMultiplyShared
#endif

__global__ void plain_product(const float* A, const float* B, float* C, int numARows,
                              int numAColumns, int numBRows, int numBColumns, int numCRows,
                              int numCColumns) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= numCRows || column >= numCColumns) return;
  float sum = 0;
  for (int k = 0; k < numAColumns; k++) sum += A[row * numAColumns + k] * B[k * numBColumns + column];
  C[row * numCColumns + column] = sum;
}

static void multiply(const float* mask, const float* matrix, float* product, int M, int rows,
                     int columns) {
#ifdef USES_CUBLAS
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, columns, M, rows, &one, matrix, columns, mask, rows,
              &zero, product, columns);
  cublasDestroy(handle);
#else
  const dim3 grid((columns - 1) / MATMUL_TILE_WIDTH + 1, (M - 1) / MATMUL_TILE_WIDTH + 1, 1);
  const dim3 block(MATMUL_TILE_WIDTH, MATMUL_TILE_WIDTH, 1);
  matrixMultiplyShared<<<grid, block>>>(mask, matrix, product, M, rows, rows, columns, M, columns);
#endif
}

__global__ void unroll(const float* input, float* matrix, int B, int C, int H, int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  const WIDE columns = (WIDE)B * H_out * W_out;
  const WIDE at = (WIDE)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= columns) return;
  const int c = blockIdx.y;
  const int w = at % W_out, h = at / W_out % H_out, b = at / (W_out * H_out);
  for (int p = 0; p < K; p++)
    for (int q = 0; q < K; q++)
      matrix[((WIDE)(c * K + p) * K + q) * columns + at] =
          input[((size_t)(b * C + c) * H + h + p) * W + w + q];
}

__global__ void permute(const float* product, float* output, int B, int M, int pixels) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < pixels)
    output[((size_t)blockIdx.z * M + blockIdx.y) * pixels + at] =
        product[((size_t)blockIdx.y * B + blockIdx.z) * pixels + at];
}

#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int pixels = (H - K + 1) * (W - K + 1), rows = C * K * K, columns = B * pixels;
  float *matrix, *product;
  cudaMalloc(&matrix, MATRIX_BYTES);
  cudaMalloc(&product, sizeof(float) * M * columns);
  unroll<<<dim3((columns - 1) / 256 + 1, C), 256>>>(device_input, matrix, B, C, H, W, K);
  if (OWN_PRODUCT_IF) {
    plain_product<<<dim3((columns - 1) / 32 + 1, (M - 1) / 8 + 1), dim3(32, 8)>>>(
        device_mask, matrix, product, M, rows, rows, columns, M, columns);
  } else {
    multiply(device_mask, matrix, product, M, rows, columns);
  }
#ifdef NOT_PERMUTED
  cudaMemcpy(device_output, product, sizeof(float) * M * columns, cudaMemcpyDeviceToDevice);
#else
  permute<<<dim3((pixels - 1) / 256 + 1, M, B), 256>>>(product, device_output, B, M, pixels);
#endif
  cudaFree(matrix);
  cudaFree(product);
}
