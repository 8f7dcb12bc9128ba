// Intrinsics whose results are exact: casts, directed roundings, bits, integer products.

#include <cuComplex.h>

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

Bits float_add() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__fadd, number(i), number(i + kCount));
  });
}
const Register kFloatAdd{"intrinsics", "float add", &float_add};

Bits float_subtract() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__fsub, number(i), number(i + kCount));
  });
}
const Register kFloatSubtract{"intrinsics", "float subtract", &float_subtract};

Bits float_multiply() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__fmul, number(i), number(i + kCount));
  });
}
const Register kFloatMultiply{"intrinsics", "float multiply", &float_multiply};

Bits float_divide() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__fdiv, number(i), number(i + kCount));
  });
}
const Register kFloatDivide{"intrinsics", "float divide", &float_divide};

Bits float_reciprocal() {
  return sweep(kCount, [] __device__(unsigned i) { return IN_ALL_MODES(__frcp, number(i)); });
}
const Register kFloatReciprocal{"intrinsics", "float reciprocal", &float_reciprocal};

Bits float_square_root() {
  return sweep(kCount, [] __device__(unsigned i) { return IN_ALL_MODES(__fsqrt, number(i)); });
}
const Register kFloatSquareRoot{"intrinsics", "float square root", &float_square_root};

Bits float_fused_multiply_add() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__fmaf, number(i), number(i + kCount), number(i + 2 * kCount));
  });
}
const Register kFloatFusedMultiplyAdd{"intrinsics", "float fused multiply-add",
                                      &float_fused_multiply_add};

Bits float_minimum_maximum_saturate() {
  return sweep(kCount, [] __device__(unsigned i) {
    const float a = i % 3 == 0 ? 0.0F * number(i) : any_float(i);
    const float b = i % 5 == 0 ? -a : any_float(i + kCount);
    return chain(bits_of(min(a, b)), bits_of(max(a, b)), bits_of(__saturatef(a)), 0U);
  });
}
const Register kFloatMinimumMaximumSaturate{"intrinsics", "float minimum, maximum, saturate",
                                            &float_minimum_maximum_saturate};

Bits double_add() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__dadd, wide(i), wide(i + kCount));
  });
}
const Register kDoubleAdd{"intrinsics", "double add", &double_add};

Bits double_multiply() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__dmul, wide(i), wide(i + kCount));
  });
}
const Register kDoubleMultiply{"intrinsics", "double multiply", &double_multiply};

Bits double_divide() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__ddiv, wide(i), wide(i + kCount));
  });
}
const Register kDoubleDivide{"intrinsics", "double divide", &double_divide};

Bits double_square_root() {
  return sweep(kCount, [] __device__(unsigned i) { return IN_ALL_MODES(__dsqrt, wide(i)); });
}
const Register kDoubleSquareRoot{"intrinsics", "double square root", &double_square_root};

Bits double_fused_multiply_add() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__fma, wide(i), wide(i + kCount), wide(i + 2 * kCount));
  });
}
const Register kDoubleFusedMultiplyAdd{"intrinsics", "double fused multiply-add",
                                       &double_fused_multiply_add};

Bits float_to_int() {
  return sweep(kCount, [] __device__(unsigned i) {
    return INTEGER_IN_ALL_MODES(__float2int, any_float(i));
  });
}
const Register kFloatToInt{"intrinsics", "float to int", &float_to_int};

Bits float_to_unsigned() {
  return sweep(kCount, [] __device__(unsigned i) {
    return INTEGER_IN_ALL_MODES(__float2uint, any_float(i));
  });
}
const Register kFloatToUnsigned{"intrinsics", "float to unsigned", &float_to_unsigned};

Bits float_to_long_long() {
  return sweep(kCount,
               [] __device__(unsigned i) { return LONG_IN_ALL_MODES(__float2ll, any_float(i)); });
}
const Register kFloatToLongLong{"intrinsics", "float to long long", &float_to_long_long};

Bits float_to_unsigned_long_long() {
  return sweep(kCount,
               [] __device__(unsigned i) { return LONG_IN_ALL_MODES(__float2ull, any_float(i)); });
}
const Register kFloatToUnsignedLongLong{"intrinsics", "float to unsigned long long",
                                        &float_to_unsigned_long_long};

Bits double_to_int() {
  return sweep(kCount,
               [] __device__(unsigned i) { return INTEGER_IN_ALL_MODES(__double2int, wide(i)); });
}
const Register kDoubleToInt{"intrinsics", "double to int", &double_to_int};

Bits double_to_unsigned() {
  return sweep(kCount,
               [] __device__(unsigned i) { return INTEGER_IN_ALL_MODES(__double2uint, wide(i)); });
}
const Register kDoubleToUnsigned{"intrinsics", "double to unsigned", &double_to_unsigned};

Bits double_to_long_long() {
  return sweep(kCount,
               [] __device__(unsigned i) { return LONG_IN_ALL_MODES(__double2ll, wide(i)); });
}
const Register kDoubleToLongLong{"intrinsics", "double to long long", &double_to_long_long};

Bits nan_to_integers() {
  return sweep(4, [] __device__(unsigned i) {
    const float nan = __uint_as_float(0x7fc00000U + i);
    return chain(static_cast<unsigned>(__float2int_rn(nan)), __float2uint_rz(nan),
                 fold(static_cast<unsigned long long>(__float2ll_rd(nan))),
                 fold(__float2ull_ru(nan)));
  });
}
const Register kNanToIntegers{"intrinsics", "NaN to integers", &nan_to_integers};

Bits double_nan_to_integers() {
  return sweep(4, [] __device__(unsigned i) {
    const double nan = __longlong_as_double(0x7ff8000000000000LL + i);
    return chain(static_cast<unsigned>(__double2int_rn(nan)), __double2uint_rz(nan),
                 fold(static_cast<unsigned long long>(__double2ll_rd(nan))),
                 fold(__double2ull_ru(nan)));
  });
}
const Register kDoubleNanToIntegers{"intrinsics", "double NaN to integers",
                                    &double_nan_to_integers};

Bits double_to_float() {
  return sweep(kCount, [] __device__(unsigned i) { return IN_ALL_MODES(__double2float, wide(i)); });
}
const Register kDoubleToFloat{"intrinsics", "double to float", &double_to_float};

Bits int_to_float() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__int2float, static_cast<int>(scramble(i)) >> (i % 32));
  });
}
const Register kIntToFloat{"intrinsics", "int to float", &int_to_float};

Bits unsigned_to_float() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__uint2float, scramble(i) >> (i % 32));
  });
}
const Register kUnsignedToFloat{"intrinsics", "unsigned to float", &unsigned_to_float};

Bits long_long_to_float() {
  return sweep(kCount, [] __device__(unsigned i) {
    const auto value = static_cast<long long>(static_cast<unsigned long long>(scramble(i)) << 32 |
                                              scramble(i + kCount));
    return IN_ALL_MODES(__ll2float, value >> (i % 64));
  });
}
const Register kLongLongToFloat{"intrinsics", "long long to float", &long_long_to_float};

Bits unsigned_long_long_to_double() {
  return sweep(kCount, [] __device__(unsigned i) {
    return IN_ALL_MODES(__ull2double,
                        static_cast<unsigned long long>(scramble(i)) << 32 | scramble(i + kCount));
  });
}
const Register kUnsignedLongLongToDouble{"intrinsics", "unsigned long long to double",
                                         &unsigned_long_long_to_double};

Bits count_find_and_reverse_bits() {
  return sweep(kCount, [] __device__(unsigned i) {
    const unsigned x = scramble(i) >> (i % 33 == 32 ? 31 : i % 33);
    const unsigned long long y = static_cast<unsigned long long>(scramble(i)) << (i % 33);
    return chain(
        static_cast<unsigned>(__popc(x) + 64 * __clz(static_cast<int>(x))),
        static_cast<unsigned>(__ffs(static_cast<int>(x)) + 64 * __ffsll(static_cast<long long>(y))),
        static_cast<unsigned>(__popcll(y) + 128 * __clzll(static_cast<long long>(y))),
        __brev(x) ^ fold(__brevll(y)));
  });
}
const Register kCountFindAndReverseBits{"intrinsics", "count, find and reverse bits",
                                        &count_find_and_reverse_bits};

Bits byte_permutation() {
  return sweep(kCount, [] __device__(unsigned i) {
    return __byte_perm(scramble(i), scramble(i + kCount), scramble(i + 2 * kCount) & 0x7777U);
  });
}
const Register kBytePermutation{"intrinsics", "byte permutation", &byte_permutation};

Bits funnel_shifts() {
  return sweep(kCount, [] __device__(unsigned i) {
    const unsigned low = scramble(i);
    const unsigned high = scramble(i + kCount);
    const unsigned shift = i % 70;
    return chain(__funnelshift_l(low, high, shift), __funnelshift_lc(low, high, shift),
                 __funnelshift_r(low, high, shift), __funnelshift_rc(low, high, shift));
  });
}
const Register kFunnelShifts{"intrinsics", "funnel shifts", &funnel_shifts};

Bits high_halves_and_24_bit_products() {
  return sweep(kCount, [] __device__(unsigned i) {
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
  });
}
const Register kHighHalvesAnd24BitProducts{"intrinsics", "high halves and 24-bit products",
                                           &high_halves_and_24_bit_products};

Bits averages_and_differences() {
  return sweep(kCount, [] __device__(unsigned i) {
    const unsigned x = scramble(i);
    const unsigned y = scramble(i + kCount);
    const auto a = static_cast<int>(x);
    const auto b = static_cast<int>(y);
    return chain(static_cast<unsigned>(__hadd(a, b)) ^ static_cast<unsigned>(__rhadd(a, b)),
                 __uhadd(x, y) + 3 * __urhadd(x, y), __sad(a, b, 5U), __usad(x, y, 5U));
  });
}
const Register kAveragesAndDifferences{"intrinsics", "averages and differences",
                                       &averages_and_differences};

Bits dot_products_of_bytes() {
  return sweep(kCount, [] __device__(unsigned i) {
    const unsigned x = scramble(i);
    const unsigned y = scramble(i + kCount);
    const auto a = static_cast<int>(x);
    const auto b = static_cast<int>(y);
    return chain(static_cast<unsigned>(__dp4a(a, b, 1)) + __dp4a(x, y, 1U),
                 static_cast<unsigned>(__dp2a_lo(a, b, 1)) + __dp2a_lo(x, y, 1U),
                 static_cast<unsigned>(__dp2a_hi(a, b, 1)) + __dp2a_hi(x, y, 1U), 0U);
  });
}
const Register kDotProductsOfBytes{"intrinsics", "dot products of bytes", &dot_products_of_bytes};

Bits mixed_minimum_and_maximum() {
  return sweep(kCount, [] __device__(unsigned i) {
    const auto a = static_cast<int>(scramble(i));
    const unsigned b = scramble(i + kCount);
    return chain(max(a, b), min(b, a), static_cast<unsigned>(max(a, static_cast<int>(b))),
                 fold(static_cast<unsigned long long>(
                     min(static_cast<long long>(a), static_cast<long long>(b)))));
  });
}
const Register kMixedMinimumAndMaximum{"intrinsics", "mixed minimum and maximum",
                                       &mixed_minimum_and_maximum};

Bits complex_numbers() {
  return sweep(kCount, [] __device__(unsigned i) {
    const cuComplex a = make_cuComplex(number(i), number(i + 1));
    const cuComplex b = make_cuFloatComplex(number(i + 2), number(i + 3));
    const cuDoubleComplex c = make_cuDoubleComplex(wide(i), wide(i + 1));
    const cuDoubleComplex d = cuConj(cuCdiv(cuCmul(c, c), cuComplexFloatToDouble(b)));
    const cuComplex e = cuCfmaf(a, b, cuCdivf(cuCsubf(a, b), b));
    const cuComplex f = cuCmulf(cuCaddf(a, b), cuConjf(cuComplexDoubleToFloat(c)));
    return chain(bits_of(cuCrealf(e)) ^ bits_of(cuCimagf(e)), bits_of(f.x) ^ bits_of(cuCabsf(f)),
                 bits_of(cuCreal(d)) ^ bits_of(cuCimag(d)), bits_of(cuCabs(cuCfma(c, d, c))));
  });
}
const Register kComplexNumbers{"intrinsics", "cuComplex", &complex_numbers};

}  // namespace
}  // namespace convlab::features
