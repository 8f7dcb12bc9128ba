// Intrinsics whose results are exact: casts, directed roundings, bits, integer products.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

constexpr unsigned kCount = 1U << 18;

__device__ float any_float(unsigned i) {
  return __uint_as_float(scramble(i));
}

/// A finite float, mostly of moderate size.
__device__ float number(unsigned i) {
  const unsigned bits = scramble(i);
  const unsigned exponent = i % 5 == 0 ? bits >> 23 & 0xffU : 100U + (bits >> 23) % 54U;
  return __uint_as_float((bits & 0x807fffffU) | (exponent == 0xffU ? 0xfeU : exponent) << 23);
}

__device__ double wide(unsigned i) {
  return static_cast<double>(number(i)) * (1.0 + static_cast<double>(scramble(i + 7)) * 0x1p-60);
}

__device__ unsigned fold(unsigned long long value) {
  return static_cast<unsigned>(value >> 32) * 31U + static_cast<unsigned>(value);
}

__device__ unsigned bits_of(float value) {
  // Every NaN counts as one.
  return isnan(value) ? 0x7fffffffU : __float_as_uint(value);
}

__device__ unsigned bits_of(double value) {
  return isnan(value) ? 0x7fffffffU
                      : fold(static_cast<unsigned long long>(__double_as_longlong(value)));
}

__device__ unsigned chain(unsigned a, unsigned b, unsigned c, unsigned d) {
  return ((a * 31U + b) * 31U + c) * 31U + d;
}

// A feature whose result i is that of the block.
#define INTRINSIC(function, title, ...) \
  CONVLAB_SWEEP("intrinsics", title, function, kCount, __VA_ARGS__)

#define IN_ALL_MODES(function, ...)                                               \
  chain(bits_of(function##_rn(__VA_ARGS__)), bits_of(function##_rz(__VA_ARGS__)), \
        bits_of(function##_ru(__VA_ARGS__)), bits_of(function##_rd(__VA_ARGS__)))
#define INTEGER_IN_ALL_MODES(function, value)                                                     \
  chain(static_cast<unsigned>(function##_rn(value)), static_cast<unsigned>(function##_rz(value)), \
        static_cast<unsigned>(function##_ru(value)), static_cast<unsigned>(function##_rd(value)))
#define LONG_IN_ALL_MODES(function, value)                           \
  chain(fold(static_cast<unsigned long long>(function##_rn(value))), \
        fold(static_cast<unsigned long long>(function##_rz(value))), \
        fold(static_cast<unsigned long long>(function##_ru(value))), \
        fold(static_cast<unsigned long long>(function##_rd(value))))

INTRINSIC(float_add, "float add", { return IN_ALL_MODES(__fadd, number(i), number(i + kCount)); })
INTRINSIC(float_subtract, "float subtract",
          { return IN_ALL_MODES(__fsub, number(i), number(i + kCount)); })
INTRINSIC(float_multiply, "float multiply",
          { return IN_ALL_MODES(__fmul, number(i), number(i + kCount)); })
INTRINSIC(float_divide, "float divide",
          { return IN_ALL_MODES(__fdiv, number(i), number(i + kCount)); })
INTRINSIC(float_reciprocal, "float reciprocal", { return IN_ALL_MODES(__frcp, number(i)); })
INTRINSIC(float_square_root, "float square root", { return IN_ALL_MODES(__fsqrt, number(i)); })
INTRINSIC(float_fused_multiply_add, "float fused multiply-add",
          { return IN_ALL_MODES(__fmaf, number(i), number(i + kCount), number(i + 2 * kCount)); })
INTRINSIC(float_minimum_maximum_saturate, "float minimum, maximum, saturate", {
  const float a = i % 3 == 0 ? 0.0F * number(i) : any_float(i);
  const float b = i % 5 == 0 ? -a : any_float(i + kCount);
  return chain(bits_of(min(a, b)), bits_of(max(a, b)), bits_of(__saturatef(a)), 0U);
})
INTRINSIC(double_add, "double add", { return IN_ALL_MODES(__dadd, wide(i), wide(i + kCount)); })
INTRINSIC(double_multiply, "double multiply",
          { return IN_ALL_MODES(__dmul, wide(i), wide(i + kCount)); })
INTRINSIC(double_divide, "double divide",
          { return IN_ALL_MODES(__ddiv, wide(i), wide(i + kCount)); })
INTRINSIC(double_square_root, "double square root", { return IN_ALL_MODES(__dsqrt, wide(i)); })
INTRINSIC(double_fused_multiply_add, "double fused multiply-add",
          { return IN_ALL_MODES(__fma, wide(i), wide(i + kCount), wide(i + 2 * kCount)); })
INTRINSIC(float_to_int, "float to int", { return INTEGER_IN_ALL_MODES(__float2int, any_float(i)); })
INTRINSIC(float_to_unsigned, "float to unsigned",
          { return INTEGER_IN_ALL_MODES(__float2uint, any_float(i)); })
INTRINSIC(float_to_long_long, "float to long long",
          { return LONG_IN_ALL_MODES(__float2ll, any_float(i)); })
INTRINSIC(float_to_unsigned_long_long, "float to unsigned long long",
          { return LONG_IN_ALL_MODES(__float2ull, any_float(i)); })
INTRINSIC(double_to_int, "double to int", { return INTEGER_IN_ALL_MODES(__double2int, wide(i)); })
INTRINSIC(double_to_unsigned, "double to unsigned",
          { return INTEGER_IN_ALL_MODES(__double2uint, wide(i)); })
INTRINSIC(double_to_long_long, "double to long long",
          { return LONG_IN_ALL_MODES(__double2ll, wide(i)); })
#define NAN_TO_INTEGERS(function, nan)                                                \
  if (i % 4 == 0) return static_cast<unsigned>(function##int_rn(nan));                \
  if (i % 4 == 1) return function##uint_rz(nan);                                      \
  if (i % 4 == 2) return fold(static_cast<unsigned long long>(function##ll_rd(nan))); \
  return fold(function##ull_ru(nan));
CONVLAB_SWEEP("intrinsics", "NaN to integers", nan_to_integers, 16, {
  const float nan = __uint_as_float((i % 8 < 4 ? 0x7fc00000U : 0xff800001U) + i);
  NAN_TO_INTEGERS(__float2, nan)
})
CONVLAB_SWEEP("intrinsics", "double NaN to integers", double_nan_to_integers, 16, {
  const double nan =
      __longlong_as_double(static_cast<long long>((i % 8 < 4 ? 0x7ff8ULL : 0xfff8ULL) << 48) + i);
  NAN_TO_INTEGERS(__double2, nan)
})
INTRINSIC(count_find_and_reverse_bits, "count, find and reverse bits", {
  const unsigned x = scramble(i) >> (i % 33 == 32 ? 31 : i % 33);
  const unsigned long long y = static_cast<unsigned long long>(scramble(i)) << (i % 33);
  return chain(
      static_cast<unsigned>(__popc(x) + 64 * __clz(static_cast<int>(x))),
      static_cast<unsigned>(__ffs(static_cast<int>(x)) + 64 * __ffsll(static_cast<long long>(y))),
      static_cast<unsigned>(__popcll(y) + 128 * __clzll(static_cast<long long>(y))),
      __brev(x) ^ fold(__brevll(y)));
})
INTRINSIC(byte_permutation, "byte permutation", {
  return __byte_perm(scramble(i), scramble(i + kCount), scramble(i + 2 * kCount) & 0x7777U);
})
INTRINSIC(funnel_shifts, "funnel shifts", {
  const unsigned low = scramble(i);
  const unsigned high = scramble(i + kCount);
  const unsigned shift = i % 70;
  return chain(__funnelshift_l(low, high, shift), __funnelshift_lc(low, high, shift),
               __funnelshift_r(low, high, shift), __funnelshift_rc(low, high, shift));
})
INTRINSIC(high_halves_and_24_bit_products, "high halves and 24-bit products", {
  const unsigned x = scramble(i);
  const unsigned y = scramble(i + kCount);
  const unsigned long long wide_x = static_cast<unsigned long long>(x) << 32 | y;
  const unsigned long long wide_y = static_cast<unsigned long long>(y) << 32 | scramble(i + 3);
  const auto a = static_cast<int>(x);
  const auto b = static_cast<int>(y);
  return chain(static_cast<unsigned>(__mulhi(a, b)) + __umulhi(x, y),
               static_cast<unsigned>(__mul24(a, b)) ^ __umul24(x, y),
               fold(__umul64hi(wide_x, wide_y)),
               fold(static_cast<unsigned long long>(
                   __mul64hi(static_cast<long long>(wide_x), static_cast<long long>(wide_y)))));
})
INTRINSIC(averages_and_differences, "averages and differences", {
  const unsigned x = scramble(i);
  const unsigned y = scramble(i + kCount);
  const auto a = static_cast<int>(x);
  const auto b = static_cast<int>(y);
  return chain(static_cast<unsigned>(__hadd(a, b)) ^ static_cast<unsigned>(__rhadd(a, b)),
               __uhadd(x, y) + 3 * __urhadd(x, y), __sad(a, b, 5U), __usad(x, y, 5U));
})
INTRINSIC(dot_products_of_bytes, "dot products of bytes", {
  const unsigned x = scramble(i);
  const unsigned y = scramble(i + kCount);
  const auto a = static_cast<int>(x);
  const auto b = static_cast<int>(y);
  return chain(static_cast<unsigned>(__dp4a(a, b, 1)) + __dp4a(x, y, 1U),
               static_cast<unsigned>(__dp2a_lo(a, b, 1)) + __dp2a_lo(x, y, 1U),
               static_cast<unsigned>(__dp2a_hi(a, b, 1)) + __dp2a_hi(x, y, 1U), 0U);
})
#define BOTH_SIZES(name) result = (result * 31 + name##2(x, y)) * 31 + name##4(x, y);
#define BOTH_SIGNS(name) BOTH_SIZES(name##s) BOTH_SIZES(name##u)
#define COMPARISON(name) BOTH_SIGNS(__vcmp##name) BOTH_SIGNS(__vset##name)
INTRINSIC(parts_of_words, "two or four parts of a word", {
  constexpr unsigned kEdges[] = {0x80007fffU, 0x7f80ff00U, 0xffff0001U, 0x81fe8001U};
  const unsigned x = i % 3 == 0 ? kEdges[i / 3 % 4] : scramble(i);
  const unsigned mask = i % 5 == 0 ? 0xff00ffU : i % 7 == 0 ? 0xffff0000U : 0;  // equal parts
  const unsigned other = i % 11 == 0 ? kEdges[i / 11 % 4] : scramble(i + kCount);
  const unsigned y = (other & ~mask) | (x & mask);
  unsigned result = chain(__vabs2(x), __vabs4(x), __vabsss2(x), __vabsss4(x)) ^
                    chain(__vneg2(x), __vneg4(x), __vnegss2(x), __vnegss4(x));
  BOTH_SIZES(__vadd)
  BOTH_SIZES(__vaddss)
  BOTH_SIZES(__vaddus)
  BOTH_SIZES(__vsub)
  BOTH_SIZES(__vsubss)
  BOTH_SIZES(__vsubus)
  BOTH_SIZES(__vhaddu)
  BOTH_SIZES(__vcmpeq)
  BOTH_SIZES(__vcmpne)
  BOTH_SIZES(__vseteq)
  BOTH_SIZES(__vsetne)
  BOTH_SIGNS(__vavg)
  BOTH_SIGNS(__vabsdiff)
  BOTH_SIGNS(__vmax)
  BOTH_SIGNS(__vmin)
  BOTH_SIGNS(__vsad)
  COMPARISON(ge)
  COMPARISON(gt)
  COMPARISON(le)
  COMPARISON(lt)
  return result;
})
#define DPX_OF_THREE(name)                                                        \
  add(chain(static_cast<unsigned>(name##_s32(x, y, z)),                           \
            static_cast<unsigned>(name##_s32_relu(x, y, z)), name##_u32(a, b, c), \
            name##_s16x2(a, b, c)));                                              \
  add(chain(name##_s16x2_relu(a, b, c), name##_u16x2(a, b, c), 0U, 0U));
#define DPX_OF_TWO(name)                                       \
  add(static_cast<unsigned>(__vi##name##_s32_relu(x, y)));     \
  add(__vi##name##_s16x2_relu(a, b));                          \
  add(static_cast<unsigned>(__vib##name##_s32(x, y, &first))); \
  add(__vib##name##_u32(a, b, &other_first));                  \
  add(__vib##name##_s16x2(a, b, &high, &low));                 \
  add(__vib##name##_u16x2(a, b, &other_high, &other_low));     \
  add(chain(first + 2U * other_first, high + 2U * low, other_high + 2U * other_low, 0U));
INTRINSIC(dynamic_programming, "minimum and maximum of three and of a sum (DPX)", {
  constexpr unsigned kEdges[] = {0x80007fffU, 0x7fff8000U, 0xffff0001U, 0x80000000U};
  const unsigned a = i % 3 == 0 ? kEdges[i / 3 % 4] : scramble(i);
  const unsigned b = i % 5 == 0 ? a : i % 7 == 0 ? kEdges[i / 7 % 4] : scramble(i + kCount);
  const unsigned c = i % 11 == 0 ? b : scramble(i + 2 * kCount);
  const int x = static_cast<int>(a);
  const int y = static_cast<int>(b);
  const int z = static_cast<int>(c);
  bool first = false;
  bool other_first = false;
  bool high = false;
  bool low = false;
  bool other_high = false;
  bool other_low = false;
  unsigned result = 0;
  const auto add = [&](unsigned more) { result = result * 31U + more; };
  DPX_OF_THREE(__vimax3)
  DPX_OF_THREE(__vimin3)
  DPX_OF_THREE(__viaddmax)
  DPX_OF_THREE(__viaddmin)
  DPX_OF_TWO(max)
  DPX_OF_TWO(min)
  return result;
})
INTRINSIC(mixed_minimum_and_maximum, "mixed minimum and maximum", {
  const auto a = static_cast<int>(scramble(i));
  const unsigned b = scramble(i + kCount);
  return chain(max(a, b), min(b, a), static_cast<unsigned>(max(a, static_cast<int>(b))),
               fold(static_cast<unsigned long long>(
                   min(static_cast<long long>(a), static_cast<long long>(b)))));
})
}  // namespace
}  // namespace convlab::features
