#pragma once

// Single precision in two halves: 22 of 24 bits.
//
//     value · 2^s ≈ high + low        high: the nearest half, low: the nearest half of the rest
//     a · b       ≈ high·high + (high·low + low·high)          low·low lies below 2^-22 of it
//
// Tensor cores cut off what does not fit when they add, always towards zero, so a sum of many terms
// drifts. The corrections are therefore summed apart from the main products: they are 2000 times
// smaller, and do not suffer from the size of the sum that they are added to at the end.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "column_pairs.cuh"
#include "common/device/matrix_fragments.cuh"

namespace convlab::split_halves {

using column_pairs::kWarp;

/// Two floats as two halves each: value ≈ high + low, 22 bits of 24. In place of the floats.
struct SplitPair {
  HalfPair high;
  HalfPair low;
};
static_assert(sizeof(SplitPair) == sizeof(float2));

/// value ≈ high + low for both, rounded to nearest.
__device__ inline SplitPair split(float first, float second) {
  const half2 high = __floats2half2_rn(first, second);
  return {to_pair(high), round_to_halves(first - __low2float(high), second - __high2float(high))};
}

/// Halves reach from 2^-24 to 65504. A power of two moves the largest value to 2^14 … 2^15: nothing
/// overflows, and what is lost below is 2^-39 of the largest value.
struct Scale {
  float up;
  float down;  // 1 / up
};

/// The power of two that moves `largest` to 2^14 … 2^15.
__device__ inline Scale scale_for(float largest) {
  constexpr int kTarget = 14;
  constexpr int kBias = 127;
  const int exponent = min(max(__float_as_int(largest) >> 23, kTarget + 1), 2 * kBias);
  return {__int_as_float((2 * kBias + kTarget - exponent) << 23),
          __int_as_float((exponent - kTarget) << 23)};
}

__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

__device__ inline float largest(float4 v) {
  return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
}

}  // namespace convlab::split_halves
