// Puzzle 10 of 11: load a fragment with ldmatrix. About two lines.
//
// In mma-lanes each lane loaded its eight halves of the left matrix one by one. ldmatrix.x4 loads
// four matrices of 8 × 8 halves from shared memory and hands each lane its elements of all four, in
// the order that mma.sync wants. In return every lane gives the address of one row: 8 halves, 16
// bytes. Lanes 0 … 7 give the rows of matrix 0, lanes 8 … 15 those of matrix 1, and so on:
//
//     left, 16 × 16        columns 0 … 7    columns 8 … 15
//         rows 0 …  7      matrix 0         matrix 2          lanes  0 …  7   lanes 16 … 23
//         rows 8 … 15      matrix 1         matrix 3          lanes  8 … 15   lanes 24 … 31
//
// So lane 9 gives the address of row 9, column 0, and lane 26 that of row 10, column 8. Find the
// row and the column for any lane.
//
// Check it with   build/bin/grader check m4 --stage ldmatrix
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kTaps = 16;
constexpr int kColumns = 8;

/// Two halves in one register: the first in the lower bits.
__device__ inline unsigned pair(float first, float second) {
  return static_cast<unsigned>(__half_as_ushort(__float2half(first))) |
         static_cast<unsigned>(__half_as_ushort(__float2half(second))) << 16;
}

/// Four matrices of 8 × 8 halves. @param row  this lane's, 16 bytes in shared memory
__device__ inline void load_matrices(unsigned (&to)[4], const half* row) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row))));
#else
  (void)to, (void)row;
#endif
}

/// sum += left · right, by all lanes of a warp together.
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&left)[4],
                                    const unsigned (&right)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
#else
  (void)sum, (void)left, (void)right;
#endif
}

/// output = weights × input: 16 × 16 times 16 × 8; one warp.
__global__ void multiply(const float* weights, const float* input, float* output) {
  __shared__ __align__(16) half weight_tile[16][kTaps];
  const int lane = threadIdx.x;
  for (int i = lane; i < 16 * kTaps; i += 32) {
    weight_tile[i / kTaps][i % kTaps] = __float2half(weights[i]);
  }
  __syncthreads();
  int row = 0;     // of the eight halves whose address this lane gives
  int column = 0;  // of the first of them
  // Two lines: row and column of this lane.
  unsigned left[4];
  load_matrices(left, &weight_tile[row][column]);

  const int r = lane / 4;
  const int t = lane % 4;
  unsigned right[2];
  for (int i = 0; i < 2; ++i) {
    const float* from = input + (2 * t + i * 8) * kColumns + r;
    right[i] = pair(from[0], from[kColumns]);
  }
  float sum[4] = {};
  multiply_add(sum, left, right);
  for (int i = 0; i < 4; ++i) output[(r + i / 2 * 8) * kColumns + 2 * t + i % 2] = sum[i];
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    multiply<<<1, 32>>>(weights, input, output);
    CONVLAB_CUDA_CHECK_LAUNCH(1, 32, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "ldmatrix",
                                               .title = "Every lane gives one address",
                                               .order = 10});

}  // namespace
