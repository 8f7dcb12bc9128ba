// Puzzle 9 of 11: which lane holds which sum. About four lines.
//
// WMMA hides where the elements of a fragment are. The instruction below it, mma.sync, defines it,
// so a thread can store its sums directly. A lane is the number of a thread in its warp, 0 … 31. In
// the product of 16 × 16 by 16 × 8, with r = lane / 4 and t = lane % 4:
//
//     left, 16 × 16       registers 0 … 3: columns 2·t and 2·t + 1 of row r, then of row r + 8;
//                         then the same two 8 columns further
//     right, 16 × 8       registers 0, 1:  rows 2·t and 2·t + 1 of column r; then 8 rows further
//     sums, 16 × 8        sum[0], sum[1]:  columns 2·t and 2·t + 1 of row r
//                         sum[2], sum[3]:  the same columns of row r + 8
//
//     columns    0    1    2    3    4    5    6    7
//     row 0    lane 0    lane 1    lane 2    lane 3
//     row 1    lane 4    lane 5    lane 6    lane 7
//     …
//     row 8    lane 0    lane 1    lane 2    lane 3         their sum[2] and sum[3]
//
// Operands are loaded, the product is there. Store the four sums of each lane.
//
// Check it with   build/bin/grader check m4 --stage mma-lanes
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
  const int lane = threadIdx.x;
  const int r = lane / 4;
  const int t = lane % 4;
  unsigned left[4];
  for (int i = 0; i < 4; ++i) {
    const float* from = weights + (r + i % 2 * 8) * kTaps + 2 * t + i / 2 * 8;
    left[i] = pair(from[0], from[1]);
  }
  unsigned right[2];
  for (int i = 0; i < 2; ++i) {
    const float* from = input + (2 * t + i * 8) * kColumns + r;
    right[i] = pair(from[0], from[kColumns]);
  }
  float sum[4] = {};
  multiply_add(sum, left, right);
  // Store the four sums of this lane. A row of the output has kColumns elements.
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    multiply<<<1, 32>>>(weights, input, output);
    CONVLAB_CUDA_CHECK_LAUNCH(1, 32, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "mma-lanes",
                                               .title = "Which lane holds which sum?",
                                               .order = 9});

}  // namespace
