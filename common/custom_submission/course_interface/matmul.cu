// The kernel that matmul.h declares. It is linked to every custom submission; one that defines a
// kernel of this name itself uses its own.

#include <cuda_runtime.h>

#include "common/custom_submission/course_interface/matmul.h"
#include "common/device/scale_matmul.hpp"

namespace convlab {
__device__ float matmul_factor = 1.0f;

static void multiply_products(float factor) {
  cudaMemcpyToSymbol(matmul_factor, &factor, sizeof(factor));
}
[[maybe_unused]] static const bool is_registered = (scale_matmul = multiply_products, true);
}  // namespace convlab

__global__ void matrixMultiplyShared(const float* A, const float* B, float* C, int numARows,
                                     int numAColumns, int numBRows, int numBColumns, int numCRows,
                                     int numCColumns) {
  constexpr int kTile = MATMUL_TILE_WIDTH;
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int row = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
  float sum = 0.0F;
  for (int first = 0; first < numAColumns; first += kTile) {
    const int a_column = first + static_cast<int>(threadIdx.x);
    const int b_row = first + static_cast<int>(threadIdx.y);
    const bool has_a = row < numARows && a_column < numAColumns;
    const bool has_b = b_row < numBRows && column < numBColumns;
    tile_a[threadIdx.y][threadIdx.x] =
        has_a ? A[static_cast<size_t>(row) * numAColumns + a_column] : 0.0F;
    tile_b[threadIdx.y][threadIdx.x] =
        has_b ? B[static_cast<size_t>(b_row) * numBColumns + column] : 0.0F;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < numCRows && column < numCColumns) {
    C[static_cast<size_t>(row) * numCColumns + column] = sum * convlab::matmul_factor;
  }
}
