#pragma once

// The tensor core's own operation: one warp multiplies 16×16 by 16×8 halves and adds to 16×8
// floats.
//
// WMMA hides which thread holds which element. Here each thread knows its elements, so it can fill
// a fragment with one load and store sums that are neighbours in memory. With lane = 4·g + q (g:
// 0…7, q: 0…3), a thread holds
//
//     left  (16 × 16)  rows g, g + 8; columns 2q, 2q+1, 2q+8, 2q+9
//     right (16 × 8)   rows 2q, 2q+1, 2q+8, 2q+9; column g
//     sums  (16 × 8)   rows g, g + 8; columns 2q, 2q+1
//
// Source: PTX ISA, "mma.m16n8k16".

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace convlab {

/// Two halves in one register, the first in the lower bits.
using HalfPair = std::uint32_t;

struct alignas(16) LeftFragment {
  HalfPair pair[4];  ///< (g, 2q), (g + 8, 2q), (g, 2q + 8), (g + 8, 2q + 8) and their neighbours
};
struct RightFragment {
  HalfPair pair[2];  ///< (2q, g), (2q + 8, g) and their neighbours
};
struct SumFragment {
  float sum[4];  ///< (g, 2q), (g, 2q + 1), (g + 8, 2q), (g + 8, 2q + 1)
};

__device__ inline HalfPair pack_halves(half first, half second) {
  return static_cast<HalfPair>(__half_as_ushort(first)) |
         static_cast<HalfPair>(__half_as_ushort(second)) << 16;
}

__device__ inline HalfPair to_pair(half2 halves) {
  return pack_halves(__low2half(halves), __high2half(halves));
}

__device__ inline HalfPair round_to_halves(float first, float second) {
  return to_pair(__floats2half2_rn(first, second));
}

#if __CUDA_ARCH__ >= 800

/// sums += left · right, by the whole warp.
__device__ inline void multiply_add(SumFragment& sums, const LeftFragment& left,
                                    const RightFragment& right) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums.sum[0]), "+f"(sums.sum[1]), "+f"(sums.sum[2]), "+f"(sums.sum[3])
      : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]),
        "r"(right.pair[0]), "r"(right.pair[1]));
}

#else

/// sums += left · right, by the whole warp. Turing's tensor cores take 8 of the 16 at a time.
__device__ inline void multiply_add(SumFragment& sums, const LeftFragment& left,
                                    const RightFragment& right) {
  for (int k = 0; k < 2; ++k) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums.sum[0]), "+f"(sums.sum[1]), "+f"(sums.sum[2]), "+f"(sums.sum[3])
        : "r"(left.pair[2 * k]), "r"(left.pair[2 * k + 1]), "r"(right.pair[k]));
  }
}

#endif

}  // namespace convlab
