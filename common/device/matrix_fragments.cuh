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

#if CONVLAB_EMULATED || !defined(__CUDA_ARCH__)

/// The factors of one operation, as floats.
struct EmulatedFactors {
  float left[16][16];
  float right[16][8];
};

/// The two halves of a register.
__device__ inline void unpack(float* two, HalfPair pair) {
  for (int i = 0; i < 2; ++i) {
    two[i] = __half2float(__ushort_as_half(static_cast<unsigned short>(pair >> 16 * i)));
  }
}

/// sums += left · right, by the whole warp. Emulated: all lanes lay out what they hold in shared
/// memory, then each computes its four sums.
__device__ inline void multiply_add(SumFragment& sums, const LeftFragment& left,
                                    const RightFragment& right) {
  constexpr int kMostWarps = 16;
  __shared__ EmulatedFactors factors_of_warps[kMostWarps];
  EmulatedFactors& factors = factors_of_warps[threadIdx.x / 32 % kMostWarps];
  const int lane = threadIdx.x % 32;
  const int g = lane / 4;
  const int q = lane % 4;
  for (int i = 0; i < 4; ++i) unpack(&factors.left[g + i % 2 * 8][2 * q + i / 2 * 8], left.pair[i]);
  for (int i = 0; i < 2; ++i) {
    float two[2];
    unpack(two, right.pair[i]);
    for (int k = 0; k < 2; ++k) factors.right[2 * q + 8 * i + k][g] = two[k];
  }
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k) {
      sums.sum[i] += factors.left[g + i / 2 * 8][k] * factors.right[k][2 * q + i % 2];
    }
  }
  __syncwarp();  // all lanes have read
}

#elif __CUDA_ARCH__ >= 800

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
