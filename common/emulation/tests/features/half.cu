// Half and bfloat16: conversions, arithmetic, comparisons, shuffles, atomics.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

constexpr unsigned kPatterns = 0x10000;  // all there are
constexpr unsigned kPairs = 4 * kPatterns;

// The two families under common names, so that one set of features covers both.

#define FAMILY(Family, Narrow, name)                                                        \
  struct Family {                                                                           \
    using Type = Narrow;                                                                    \
    __device__ static Type of(unsigned bits) {                                              \
      return __ushort_as_##name(static_cast<unsigned short>(bits));                         \
    }                                                                                       \
    __device__ static unsigned bits(Type value) { return __##name##_as_ushort(value); }     \
    __device__ static float to_float(Type value) { return __##name##2float(value); }        \
    __device__ static Type rn(float value) { return __float2##name##_rn(value); }           \
    __device__ static Type from_double(double value) { return __double2##name(value); }     \
    __device__ static int to_int_rn(Type value) { return __##name##2int_rn(value); }        \
    __device__ static unsigned to_uint_rz(Type value) { return __##name##2uint_rz(value); } \
    __device__ static short to_short_ru(Type value) { return __##name##2short_ru(value); }  \
    __device__ static long long to_ll_rd(Type value) { return __##name##2ll_rd(value); }    \
    __device__ static Type from_int_rn(int value) { return __int2##name##_rn(value); }      \
  };
FAMILY(Half, __half, half)
FAMILY(Bfloat16, __nv_bfloat16, bfloat16)
#undef FAMILY

/// A float near a narrow number's midpoint for most i, any float for the others.
template <class Family>
__device__ float telling_float(unsigned i) {
  const unsigned random = scramble(i);
  if (i % 4 == 0) return __uint_as_float(random);
  const unsigned middle = sizeof(typename Family::Type) == 2 ? random & 0xffffe000U : random;
  return __uint_as_float(middle + (i % 4 == 1 ? 0U : (i % 4 == 2 ? 0x1000U : 0x0fffU)));
}

template <class Family>
__device__ typename Family::Type second(unsigned i) {
  return Family::of(scramble(i) & 0xffffU);
}

template <class Family>
__device__ typename Family::Type third(unsigned i) {
  return Family::of(scramble(i) >> 16);
}

// A feature of both families, whose result i is that of the block for the family F.
#define BOTH(function, title, count, ...)                                             \
  template <class F>                                                                  \
  Bits function() {                                                                   \
    return sweep(count, [] __device__(unsigned i) __VA_ARGS__);                       \
  }                                                                                   \
  const Register kHalf_##function{"half precision", "half: " title, &function<Half>}; \
  const Register kBfloat16_##function{"half precision", "bfloat16: " title, &function<Bfloat16>};

BOTH(to_float, "to float", kPatterns, { return __float_as_uint(F::to_float(F::of(i))); })
BOTH(from_float_rn, "from float rn", kPairs, { return F::bits(F::rn(telling_float<F>(i))); })
BOTH(from_double, "from double", kPairs, {
  const double nudge = i % 3 == 0 ? 0.0 : (i % 3 == 1 ? 1e-12 : -1e-12);
  return F::bits(F::from_double(static_cast<double>(telling_float<F>(i)) * (1.0 + nudge)));
})
BOTH(to_int_rn, "to int rn", kPatterns, { return static_cast<unsigned>(F::to_int_rn(F::of(i))); })
BOTH(to_unsigned_rz, "to unsigned rz", kPatterns, { return F::to_uint_rz(F::of(i)); })
BOTH(to_short_ru, "to short ru", kPatterns,
     { return static_cast<unsigned>(F::to_short_ru(F::of(i))); })
BOTH(to_long_long_rd, "to long long rd", kPatterns, {
  const auto value = static_cast<unsigned long long>(F::to_ll_rd(F::of(i)));
  return static_cast<unsigned>(value >> 32 ^ value);
})
BOTH(from_int_rn, "from int rn", kPairs,
     { return F::bits(F::from_int_rn(static_cast<int>(scramble(i)) >> (i % 32))); })
BOTH(add, "add", kPairs, { return F::bits(__hadd(F::of(i & 0xffffU), second<F>(i))); })
BOTH(subtract, "subtract", kPairs, { return F::bits(__hsub(F::of(i & 0xffffU), second<F>(i))); })
BOTH(multiply, "multiply", kPairs, { return F::bits(__hmul(F::of(i & 0xffffU), second<F>(i))); })
BOTH(divide, "divide", kPairs, { return F::bits(__hdiv(F::of(i & 0xffffU), second<F>(i))); })
BOTH(fused_multiply_add, "fused multiply-add", kPairs,
     { return F::bits(__hfma(F::of(i & 0xffffU), second<F>(i), third<F>(i))); })
// A kernel each: nvcc rounds a product that two branches share.
BOTH(operators_fused, "a * b + c of operators is rounded once", kPairs,
     { return F::bits(F::of(i & 0xffffU) * second<F>(i) + third<F>(i)); })
BOTH(operators_fused_difference, "c - a * b of operators is rounded once", kPairs,
     { return F::bits(third<F>(i) - F::of(i & 0xffffU) * second<F>(i)); })
BOTH(operators_fused_assignment, "c += a * b of operators is rounded once", kPairs, {
  auto c = third<F>(i);
  c += F::of(i & 0xffffU) * second<F>(i);
  return F::bits(c);
})
BOTH(fused_multiply_add_relu, "fused multiply-add, relu", kPairs,
     { return F::bits(__hfma_relu(F::of(i & 0xffffU), second<F>(i), third<F>(i))); })
BOTH(square_root, "square root", kPatterns, { return F::bits(hsqrt(F::of(i))); })
BOTH(round_to_whole, "round, ceil, floor, trunc", 4 * kPatterns, {
  const auto value = F::of(i / 4);
  if (i % 4 == 0) return F::bits(hrint(value));
  if (i % 4 == 1) return F::bits(hceil(value));
  return i % 4 == 2 ? F::bits(hfloor(value)) : F::bits(htrunc(value));
})
BOTH(min_max, "minimum and maximum", kPairs, {
  const auto a = F::of(i & 0xffffU);
  const auto b = i % 16 == 0 ? F::of((i & 0xffffU) ^ 0x8000U) : second<F>(i);
  return F::bits(__hmin(a, b)) | F::bits(__hmax(a, b)) << 16;
})
BOTH(min_max_nan, "minimum and maximum, NaN wins", kPairs, {
  const auto a = F::of(i & 0xffffU);
  const auto b = second<F>(i);
  return F::bits(__hmin_nan(a, b)) | F::bits(__hmax_nan(a, b)) << 16;
})
BOTH(comparisons, "comparisons", kPairs, {
  const auto a = F::of(i & 0xffffU);
  const auto b = i % 8 == 0 ? a : second<F>(i);
  return (__heq(a, b) ? 1U : 0U) | (__hne(a, b) ? 2U : 0U) | (__hlt(a, b) ? 4U : 0U) |
         (__hle(a, b) ? 8U : 0U) | (__hgt(a, b) ? 16U : 0U) | (__hge(a, b) ? 32U : 0U) |
         (__hequ(a, b) ? 64U : 0U) | (__hneu(a, b) ? 128U : 0U) | (__hltu(a, b) ? 256U : 0U) |
         (__hleu(a, b) ? 512U : 0U) | (__hgtu(a, b) ? 1024U : 0U) | (__hgeu(a, b) ? 2048U : 0U) |
         (__hisnan(a) ? 4096U : 0U) | static_cast<unsigned>(__hisinf(a) + 1) << 13;
})
BOTH(negate_and_absolute_value, "negate and absolute value", kPatterns, {
  // CUDA does not specify a NaN's sign and payload.
  const auto value = F::of(i);
  return __hisnan(value) ? 0U : F::bits(__hneg(value)) | F::bits(__habs(value)) << 16;
})
__global__ void exchange_pairs(unsigned* results) {
  const int lane = static_cast<int>(threadIdx.x);
  const half2 mine = __floats2half2_rn(static_cast<float>(lane), static_cast<float>(-lane));
  const half2 next = __shfl_down_sync(0xffffffffU, mine, 1);
  const half2 other = __shfl_xor_sync(0xffffffffU, mine, 5);
  const half first = __shfl_sync(0xffffffffU, mine.x, 3);
  const half before = __shfl_up_sync(0xffffffffU, mine.y, 2, 16);
  const half2 sum = __hfma2(next, other, __halves2half2(first, before));
  results[lane] = __half_as_ushort(sum.x) | static_cast<unsigned>(__half_as_ushort(sum.y)) << 16;
}

__global__ void sum_pair_differences(unsigned* results) {
  __shared__ half2 values[64];
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = make_half2(__int2half_rn(thread), __int2half_rn(thread * thread % 50));
  __syncthreads();
  half2 sum = __float2half2_rn(0.0F);
  for (int i = 0; i < 8; ++i) {
    const half2 difference = __hsub2(values[(thread + i) % 64], __lowhigh2highlow(values[thread]));
    sum += __habs2(difference);
  }
  const unsigned equal = __heq2_mask(sum, __half2half2(__low2half(sum)));
  results[thread] = equal ^ (__half_as_ushort(__high2half(sum)) |
                             static_cast<unsigned>(__half_as_ushort(sum.x)) << 16);
}

__global__ void count_atomically(half* sums, half2* pairs, __nv_bfloat16* brains) {
  // Small integers: every order of additions gives the same sum.
  const int slot = static_cast<int>(threadIdx.x) % 4;
  atomicAdd(&sums[slot], __int2half_rn(1 + slot));
  atomicAdd(&pairs[slot], __floats2half2_rn(1.0F, 2.0F));
  atomicAdd(&brains[slot], __float2bfloat16(1.0F));
}

const Register kShuffles{"half precision", "half2 shuffles",
                         [] { return results_of(exchange_pairs, 1, 32, 32); }};

const Register kShared{"half precision", "half2 arithmetic in shared memory",
                       [] { return results_of(sum_pair_differences, 1, 64, 64); }};

const Register kAtomics{"half precision", "atomicAdd of half, half2 and bfloat16", [] {
                          DeviceArray<half> sums(4);
                          DeviceArray<half2> pairs(4);
                          DeviceArray<__nv_bfloat16> brains(4);
                          count_atomically<<<3, 128>>>(sums.data(), pairs.data(), brains.data());
                          Bits bits = sums.bits();
                          for (const Bits& more : {pairs.bits(), brains.bits()}) {
                            bits.insert(bits.end(), more.begin(), more.end());
                          }
                          return bits;
                        }};

}  // namespace
}  // namespace convlab::features
