#pragma once

// Single precision in two halves: 22 of 24 bits.
//
//     value · 2^s ≈ high + low / 2^11     high: the nearest half
//                                         low: 2^11 times the rest, as the nearest half
//     a · b       ≈ high·high + (high·low + low·high) / 2^11    low·low lies below 2^-22 of it
//
// The rest is at least 2^11 times smaller than the value. Without a factor it would be below the
// smallest half if the value is small compared with the image's largest: on real images some
// windows hold only values of 10^-7 when the largest is 1, and their error was 173 units instead of
// 24. Multiplied by 2^11 the rest is as large as the value. All corrections have the same factor,
// so their sum is divided by it once.
//
// Tensor cores cut off bits when they add, always towards zero, so a sum of many terms drifts. So
// the corrections, which are 2000 times smaller, have a sum apart from the main products: only at
// the end is it added to the large sum.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "column_pairs.cuh"
#include "common/device/matrix_fragments.cuh"

namespace convlab::split_halves {

using column_pairs::kWarp;

/// What `low` is multiplied by, and the corrections' sum at the end.
constexpr float kLowUp = 2048.0f;
constexpr float kLowDown = 1.0f / kLowUp;

/// Two floats as two halves each: value ≈ high + low / 2^11, 22 bits of 24. They take the memory of
/// the floats.
struct SplitPair {
  HalfPair high;
  HalfPair low;
};
static_assert(sizeof(SplitPair) == sizeof(float2));

/// value ≈ high + low / 2^11 for both, rounded to nearest.
__device__ inline SplitPair split(float first, float second) {
  const half2 high = __floats2half2_rn(first, second);
  return {to_pair(high), round_to_halves(kLowUp * (first - __low2float(high)),
                                         kLowUp * (second - __high2float(high)))};
}

/// The sum of the main products and the corrections.
__device__ inline float join(float main, float corrections) {
  return fmaf(kLowDown, corrections, main);
}

/// Halves reach from 2^-24 to 65504. A power of two moves the largest value to 2^14 … 2^15, so
/// nothing overflows. High and low together resolve 2^-36, 2^-50 of the largest value, so a window
/// keeps the bound of 32 units, 2^-19, as long as its values exceed 2^-31 of the image's largest.
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
