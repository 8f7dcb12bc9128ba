// A complete program to read: the product of two matrices of 16 × 16 by one block. Nothing is
// missing here.
//
//     cmake --build --preset lab --target matrix-product && build/bin/matrix-product
//
// C = A · B:   c[row][column] = Σ over t of a[row][t] · b[t][column]
//
// One thread computes one element of C, 256 threads in all. A thread needs a row of A and a column
// of B: 32 numbers for 16 multiply-adds. Its neighbours need the same row or the same column. So
// the block first copies both matrices into shared memory, where each thread loads one element of
// each:
//
//                         16 columns
//                        ┌──────────┐
//                     16 │ b_tile   │   thread (row, column) copies b[row][column]
//                        └──────────┘
//               16
//            ┌──────────┐┌──────────┐
//         16 │ a_tile   ││ sums     │   and sums up a_tile[row][t] · b_tile[t][column]
//            └──────────┘└──────────┘
//
// Loads from global memory: 2 for each thread instead of 32.

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/device/cuda_check.cuh"

constexpr int kTile = 16;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float a_tile[kTile][kTile];  // (row, t)
  __shared__ float b_tile[kTile][kTile];  // (t, column)
  const int row = threadIdx.y;
  const int column = threadIdx.x;  // neighbours in a warp: neighbours in memory

  a_tile[row][column] = a[row * kTile + column];
  b_tile[row][column] = b[row * kTile + column];
  __syncthreads();  // nobody reads a tile before it is complete

  float sum = 0.0f;
  for (int t = 0; t < kTile; ++t) sum += a_tile[row][t] * b_tile[t][column];
  c[row * kTile + column] = sum;
}

int main() {
  const std::size_t count = kTile * kTile;
  const std::size_t bytes = count * sizeof(float);
  std::vector<float> a(count);
  std::vector<float> b(count);
  std::vector<float> c(count);
  for (int row = 0; row < kTile; ++row) {
    for (int column = 0; column < kTile; ++column) {
      a[row * kTile + column] = static_cast<float>(row);         // row 2 holds only 2
      b[row * kTile + column] = static_cast<float>(column + 1);  // column 3 holds only 4
    }
  }

  float* device_a = nullptr;
  float* device_b = nullptr;
  float* device_c = nullptr;
  CONVLAB_CUDA_CHECK(cudaMalloc(&device_a, bytes));
  CONVLAB_CUDA_CHECK(cudaMalloc(&device_b, bytes));
  CONVLAB_CUDA_CHECK(cudaMalloc(&device_c, bytes));
  CONVLAB_CUDA_CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CONVLAB_CUDA_CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

  const dim3 block(kTile, kTile);
  multiply<<<1, block>>>(device_a, device_b, device_c);
  CONVLAB_CUDA_CHECK_LAUNCH(1, block, 0);

  CONVLAB_CUDA_CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
  CONVLAB_CUDA_CHECK(cudaFree(device_a));
  CONVLAB_CUDA_CHECK(cudaFree(device_b));
  CONVLAB_CUDA_CHECK(cudaFree(device_c));

  // Each of the 16 products in c[2][3] is 2 · 4.
  std::printf("c[2][3] = %g, c[15][15] = %g\n", static_cast<double>(c[2 * kTile + 3]),
              static_cast<double>(c[15 * kTile + 15]));
  return 0;
}
