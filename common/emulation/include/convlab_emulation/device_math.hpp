#pragma once

// Device mathematics: integer intrinsics, casts, intrinsics of floating point, and what CUDA has
// beyond <math.h>. The approximate intrinsics (__expf, __sinf, …) are as exact as the host's
// functions; a GPU's last bits differ.
// Source: CUDA Math API.

// The C headers, not <cmath>: they put the overloads of abs, sqrt, pow, … into the global
// namespace, where CUDA has them.
#include <math.h>    // NOLINT(modernize-deprecated-headers,hicpp-deprecated-headers)
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers,hicpp-deprecated-headers)

#include <cfenv>
#include <cmath>
#include <cstdint>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {

/// Restores the processor's rounding mode at the end of a scope.
class RoundingScope {
 public:
  explicit RoundingScope(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int before_;
};

/// The value, hidden from the optimiser: it can neither compute with the value at compile time nor
/// move computations with it past another such call.
template <class T>
auto opaque(T value) {
  asm volatile("" : "+m"(value) : : "memory");
  return value;
}

/// operation(operands…) in another rounding mode. Not inlined, so that no other computation of the
/// caller is moved to where that mode holds.
template <class Operation, class... T>
[[gnu::noinline]] auto rounded(int mode, Operation operation, T... operands) {
  const RoundingScope scope(mode);
  return opaque(operation(opaque(operands)...));
}

/// The value, kept out of a fused multiply-add: neither a product that one takes in, nor its sum.
template <class T>
auto unfused(T value) {
#if defined(__x86_64__)
  if (!__builtin_constant_p(value)) asm("" : "+x"(value));
#elif defined(__aarch64__)
  if (!__builtin_constant_p(value)) asm("" : "+w"(value));
#endif
  return value;
}

#define CONVLAB_OPERATION(Name, parameters, expression) \
  struct Name {                                         \
    template <class T>                                  \
    auto operator() parameters const {                  \
      return expression;                                \
    }                                                   \
  };
CONVLAB_OPERATION(Sum, (T a, T b), unfused(a) + unfused(b))
CONVLAB_OPERATION(Difference, (T a, T b), unfused(a) - unfused(b))
// Of hidden factors: the compiler would take a product that stands elsewhere, too, for the same
// one, and not fuse it there.
CONVLAB_OPERATION(Product, (T a, T b), unfused(unfused(a) * b))
CONVLAB_OPERATION(Quotient, (T a, T b), a / b)
CONVLAB_OPERATION(ToFloat, (T x), static_cast<float>(x))
CONVLAB_OPERATION(ToDouble, (T x), static_cast<double>(x))
CONVLAB_OPERATION(SquareRoot, (T x), std::sqrt(x))
CONVLAB_OPERATION(FusedMultiplyAdd, (T x, T y, T z), std::fma(x, y, z))
#undef CONVLAB_OPERATION

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's
// NOLINTBEGIN(bugprone-macro-parentheses): macros stand for names and types here

// ---- integers -----------------------------------------------------------------------------------

CONVLAB_FUNCTION(int, __popc, (unsigned int x), convlab::emulation::popcount(x))
CONVLAB_FUNCTION(int, __popcll, (unsigned long long x), convlab::emulation::popcount(x))
CONVLAB_FUNCTION(int, __clz, (int x), convlab::emulation::countl_zero(static_cast<unsigned int>(x)))
CONVLAB_FUNCTION(int, __clzll, (long long x),
                 convlab::emulation::countl_zero(static_cast<unsigned long long>(x)))
// Position of the lowest set bit, counted from 1; 0 if there is none.
CONVLAB_FUNCTION(int, __ffs, (int x), __builtin_ffs(x))
CONVLAB_FUNCTION(int, __ffsll, (long long x), __builtin_ffsll(x))
inline unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
  x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
  x = (x >> 4 & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4;
  return __builtin_bswap32(x);
}
CONVLAB_FUNCTION(unsigned long long, __brevll, (unsigned long long x),
                 std::uint64_t{__brev(static_cast<unsigned int>(x))} << 32 |
                     __brev(static_cast<unsigned int>(x >> 32)))

/// Four bytes picked out of the eight of y:x; each hexadecimal digit of the selector picks one.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int pick = selector >> (4 * i) & 7U;
    result |= static_cast<unsigned int>(bytes >> (8 * pick) & 0xffU) << (8 * i);
  }
  return result;
}

// The 64 bits high:low shifted; _l yields the upper word, _r the lower one. The plain forms take
// the shift modulo 32, the _c forms stop at 32.
#define CONVLAB_SHIFT(name, expression)                                                           \
  CONVLAB_FUNCTION(unsigned int, name, (unsigned int low, unsigned int high, unsigned int shift), \
                   expression)
CONVLAB_SHIFT(__funnelshift_l, (std::uint64_t{high} << 32 | low) << (shift & 31U) >> 32)
CONVLAB_SHIFT(__funnelshift_lc, shift >= 32 ? low : __funnelshift_l(low, high, shift))
CONVLAB_SHIFT(__funnelshift_r, (std::uint64_t{high} << 32 | low) >> (shift & 31U))
CONVLAB_SHIFT(__funnelshift_rc, shift >= 32 ? high : __funnelshift_r(low, high, shift))
#undef CONVLAB_SHIFT

// Products, averages without overflow (rounded down and up), sums of absolute differences.
#define CONVLAB_OF_TWO(T, name, expression) CONVLAB_FUNCTION(T, name, (T x, T y), expression)
CONVLAB_OF_TWO(int, __mulhi, std::int64_t{x} * y >> 32)
CONVLAB_OF_TWO(unsigned int, __umulhi, std::uint64_t{x} * y >> 32)
CONVLAB_OF_TWO(long long, __mul64hi, convlab::emulation::Int128{x} * y >> 64)
CONVLAB_OF_TWO(unsigned long long, __umul64hi, convlab::emulation::UInt128{x} * y >> 64)
// The low 32 bits of the product of the low 24 bits.
CONVLAB_OF_TWO(int, __mul24,
               std::int64_t{static_cast<int>(static_cast<unsigned int>(x) << 8) >> 8} *
                   (static_cast<int>(static_cast<unsigned int>(y) << 8) >> 8))
CONVLAB_OF_TWO(unsigned int, __umul24, std::uint64_t{x & 0xffffffU} * (y & 0xffffffU))
CONVLAB_OF_TWO(int, __hadd, (std::int64_t{x} + y) >> 1)
CONVLAB_OF_TWO(int, __rhadd, (std::int64_t{x} + y + 1) >> 1)
CONVLAB_OF_TWO(unsigned int, __uhadd, (std::uint64_t{x} + y) >> 1)
CONVLAB_OF_TWO(unsigned int, __urhadd, (std::uint64_t{x} + y + 1) >> 1)
CONVLAB_FUNCTION(unsigned int, __sad, (int x, int y, unsigned int z),
                 (x > y ? std::int64_t{x} - y : std::int64_t{y} - x) + z)
CONVLAB_FUNCTION(unsigned int, __usad, (unsigned int x, unsigned int y, unsigned int z),
                 (x > y ? x - y : y - x) + z)

namespace convlab::emulation {

/// The sum of `count` products of parts of two words, from the first one of a and from part
/// `first_b` of b on, added to c; it wraps round.
template <class A, class B, class Word>
constexpr auto dot(Word a, Word b, Word c, unsigned int count, unsigned int first_b) {
  auto sum = static_cast<unsigned int>(c);
  for (unsigned int i = 0; i < count; ++i) {
    const auto x = static_cast<A>(static_cast<unsigned int>(a) >> (8 * sizeof(A) * i));
    const auto y = static_cast<B>(static_cast<unsigned int>(b) >> (8 * sizeof(B) * (first_b + i)));
    sum += static_cast<unsigned int>(x * y);
  }
  return static_cast<Word>(sum);
}

}  // namespace convlab::emulation

// Dot products of bytes, and of bytes with 16-bit numbers, added to c.
#define CONVLAB_DOT_PRODUCTS(T, Short, Byte, Bytes)                                      \
  CONVLAB_FUNCTION(T, __dp4a, (T a, T b, T c),                                           \
                   (convlab::emulation::dot<Byte, Byte>(a, b, c, 4, 0)))                 \
  CONVLAB_FUNCTION(                                                                      \
      T, __dp4a, (Bytes a, Bytes b, T c),                                                \
      __dp4a(convlab::emulation::bit_cast<T>(a), convlab::emulation::bit_cast<T>(b), c)) \
  CONVLAB_FUNCTION(T, __dp2a_lo, (T a, T b, T c),                                        \
                   (convlab::emulation::dot<Short, Byte>(a, b, c, 2, 0)))                \
  CONVLAB_FUNCTION(T, __dp2a_hi, (T a, T b, T c),                                        \
                   (convlab::emulation::dot<Short, Byte>(a, b, c, 2, 2)))
CONVLAB_DOT_PRODUCTS(int, std::int16_t, std::int8_t, char4)
CONVLAB_DOT_PRODUCTS(unsigned int, std::uint16_t, std::uint8_t, uchar4)
#undef CONVLAB_DOT_PRODUCTS

// min and max, with CUDA's overloads: a signed and an unsigned operand compare as unsigned.
#define CONVLAB_MINMAX(A, B, Result)       \
  inline Result min(A a, B b) {            \
    const auto x = static_cast<Result>(a); \
    const auto y = static_cast<Result>(b); \
    return x < y ? x : y;                  \
  }                                        \
  inline Result max(A a, B b) {            \
    const auto x = static_cast<Result>(a); \
    const auto y = static_cast<Result>(b); \
    return x > y ? x : y;                  \
  }
#define CONVLAB_MINMAX_OF(Signed, Unsigned)    \
  CONVLAB_MINMAX(Signed, Signed, Signed)       \
  CONVLAB_MINMAX(Unsigned, Unsigned, Unsigned) \
  CONVLAB_MINMAX(Signed, Unsigned, Unsigned)   \
  CONVLAB_MINMAX(Unsigned, Signed, Unsigned)
CONVLAB_MINMAX_OF(int, unsigned int)
CONVLAB_MINMAX_OF(long, unsigned long)
CONVLAB_MINMAX_OF(long long, unsigned long long)
#undef CONVLAB_MINMAX_OF
#undef CONVLAB_MINMAX

// Other names.
CONVLAB_OF_TWO(unsigned int, umin, min(x, y))
CONVLAB_OF_TWO(unsigned int, umax, max(x, y))
CONVLAB_OF_TWO(long long, llmin, min(x, y))
CONVLAB_OF_TWO(long long, llmax, max(x, y))
CONVLAB_OF_TWO(unsigned long long, ullmin, min(x, y))
CONVLAB_OF_TWO(unsigned long long, ullmax, max(x, y))
#undef CONVLAB_OF_TWO

// ---- casts --------------------------------------------------------------------------------------
// From floating point to integers in any rounding mode, back to nearest even, and the bits of one
// type read as another. A floating-point number beyond an integer's range becomes the nearest
// limit, a NaN 0 or, for 64-bit integers, 2^63; a plain C++ cast of such a number is undefined on
// the host.

#define CONVLAB_SAME_BITS(from, to, name) \
  CONVLAB_FUNCTION(to, name, (from x), convlab::emulation::bit_cast<to>(x))
CONVLAB_SAME_BITS(float, int, __float_as_int)
CONVLAB_SAME_BITS(float, unsigned int, __float_as_uint)
CONVLAB_SAME_BITS(int, float, __int_as_float)
CONVLAB_SAME_BITS(unsigned int, float, __uint_as_float)
CONVLAB_SAME_BITS(double, long long, __double_as_longlong)
CONVLAB_SAME_BITS(long long, double, __longlong_as_double)
#undef CONVLAB_SAME_BITS
CONVLAB_FUNCTION(int, __double2hiint, (double x),
                 convlab::emulation::bit_cast<std::uint64_t>(x) >> 32)
CONVLAB_FUNCTION(int, __double2loint, (double x),
                 convlab::emulation::bit_cast<std::uint64_t>(x) & 0xffffffffU)
inline double __hiloint2double(int high, int low) {
  return convlab::emulation::bit_cast<double>(std::uint64_t{static_cast<unsigned int>(high)} << 32 |
                                              static_cast<unsigned int>(low));
}

#define CONVLAB_TO_INTEGER(from, to, name, suffix, mode) \
  CONVLAB_FUNCTION(                                      \
      to, name##suffix, (from x),                        \
      convlab::emulation::convert_to_integer<to>(x, convlab::emulation::Rounding::mode))
#define CONVLAB_IN_ALL_MODES(define, ...)                                      \
  define(__VA_ARGS__, _rn, kNearestEven) define(__VA_ARGS__, _rz, kTowardZero) \
      define(__VA_ARGS__, _ru, kUp) define(__VA_ARGS__, _rd, kDown)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, float, int, __float2int)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, float, unsigned int, __float2uint)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, float, long long, __float2ll)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, float, unsigned long long, __float2ull)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, double, int, __double2int)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, double, unsigned int, __double2uint)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, double, long long, __double2ll)
CONVLAB_IN_ALL_MODES(CONVLAB_TO_INTEGER, double, unsigned long long, __double2ull)
#undef CONVLAB_IN_ALL_MODES
#undef CONVLAB_TO_INTEGER

CONVLAB_FUNCTION(double, __int2double_rn, (int x), x)
CONVLAB_FUNCTION(double, __uint2double_rn, (unsigned int x), x)

// ---- floating point -----------------------------------------------------------------------------

// One operation in a stated rounding mode.

#define CONVLAB_IN_MODE(T, name, Operation, parameters, mode, ...) \
  CONVLAB_FUNCTION(                                                \
      T, name, parameters,                                         \
      convlab::emulation::rounded(mode, convlab::emulation::Operation{}, __VA_ARGS__))
#define CONVLAB_IN_ALL_MODES(T, name, Operation, parameters, ...)                          \
  CONVLAB_FUNCTION(T, name##_rn, parameters, convlab::emulation::Operation{}(__VA_ARGS__)) \
  CONVLAB_IN_MODE(T, name##_rz, Operation, parameters, FE_TOWARDZERO, __VA_ARGS__)         \
  CONVLAB_IN_MODE(T, name##_ru, Operation, parameters, FE_UPWARD, __VA_ARGS__)             \
  CONVLAB_IN_MODE(T, name##_rd, Operation, parameters, FE_DOWNWARD, __VA_ARGS__)
CONVLAB_IN_ALL_MODES(float, __fadd, Sum, (float x, float y), x, y)
CONVLAB_IN_ALL_MODES(float, __fsub, Difference, (float x, float y), x, y)
CONVLAB_IN_ALL_MODES(float, __fmul, Product, (float x, float y), x, y)
CONVLAB_IN_ALL_MODES(float, __fdiv, Quotient, (float x, float y), x, y)
CONVLAB_IN_ALL_MODES(float, __frcp, Quotient, (float x), 1.0F, x)
CONVLAB_IN_ALL_MODES(float, __fsqrt, SquareRoot, (float x), x)
CONVLAB_IN_ALL_MODES(float, __fmaf, FusedMultiplyAdd, (float x, float y, float z), x, y, z)
CONVLAB_IN_ALL_MODES(double, __dadd, Sum, (double x, double y), x, y)
CONVLAB_IN_ALL_MODES(double, __dsub, Difference, (double x, double y), x, y)
CONVLAB_IN_ALL_MODES(double, __dmul, Product, (double x, double y), x, y)
CONVLAB_IN_ALL_MODES(double, __ddiv, Quotient, (double x, double y), x, y)
CONVLAB_IN_ALL_MODES(double, __drcp, Quotient, (double x), 1.0, x)
CONVLAB_IN_ALL_MODES(double, __dsqrt, SquareRoot, (double x), x)
CONVLAB_IN_ALL_MODES(double, __fma, FusedMultiplyAdd, (double x, double y, double z), x, y, z)
CONVLAB_IN_ALL_MODES(float, __int2float, ToFloat, (int x), x)
CONVLAB_IN_ALL_MODES(float, __uint2float, ToFloat, (unsigned int x), x)
CONVLAB_IN_ALL_MODES(float, __ll2float, ToFloat, (long long x), x)
CONVLAB_IN_ALL_MODES(float, __ull2float, ToFloat, (unsigned long long x), x)
CONVLAB_IN_ALL_MODES(float, __double2float, ToFloat, (double x), x)
CONVLAB_IN_ALL_MODES(double, __ll2double, ToDouble, (long long x), x)
CONVLAB_IN_ALL_MODES(double, __ull2double, ToDouble, (unsigned long long x), x)
#undef CONVLAB_IN_ALL_MODES
#undef CONVLAB_IN_MODE

CONVLAB_FUNCTION(double, rsqrt, (double x), 1.0 / std::sqrt(x))

// Approximate intrinsics. glibc declares some of these names, without defining them, as not
// throwing.

#define CONVLAB_APPROXIMATE(name, expression) \
  inline float name(float x) noexcept {       \
    return expression;                        \
  }
CONVLAB_APPROXIMATE(__expf, std::exp(x))
CONVLAB_APPROXIMATE(__exp10f, static_cast<float>(std::pow(10.0, static_cast<double>(x))))
CONVLAB_APPROXIMATE(__logf, std::log(x))
CONVLAB_APPROXIMATE(__log2f, std::log2(x))
CONVLAB_APPROXIMATE(__log10f, std::log10(x))
CONVLAB_APPROXIMATE(__sinf, std::sin(x))
CONVLAB_APPROXIMATE(__cosf, std::cos(x))
CONVLAB_APPROXIMATE(__tanf, std::tan(x))
CONVLAB_APPROXIMATE(__tanhf, std::tanh(x))
#undef CONVLAB_APPROXIMATE

inline float __powf(float x, float y) noexcept {
  return std::pow(x, y);
}
inline void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
/// x / y, but 0 where |y| lies between 2^126 and 2^128, as the programming guide says.
inline float __fdividef(float x, float y) {
  const float magnitude = std::fabs(y);
  if (magnitude > 0x1p126F && magnitude <= 0x1.fffffep127F) return std::isinf(x) ? NAN : 0.0F * x;
  return x / y;
}
CONVLAB_FUNCTION(float, fdividef, (float x, float y), x / y)
CONVLAB_FUNCTION(double, fdivide, (double x, double y), x / y)
/// Clamped to [0, 1]; a NaN becomes 0.
CONVLAB_FUNCTION(float, __saturatef, (float x), x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F)

// Functions that <math.h> lacks.

CONVLAB_FUNCTION(double, rcbrt, (double x), 1.0 / std::cbrt(x))
CONVLAB_FUNCTION(double, norm3d, (double a, double b, double c), std::hypot(a, b, c))
CONVLAB_FUNCTION(float, norm3df, (float a, float b, float c), std::hypot(a, b, c))
CONVLAB_FUNCTION(double, rnorm3d, (double a, double b, double c), 1.0 / norm3d(a, b, c))
CONVLAB_FUNCTION(double, norm4d, (double a, double b, double c, double d),
                 std::hypot(std::hypot(a, b), std::hypot(c, d)))
CONVLAB_FUNCTION(double, rnorm4d, (double a, double b, double c, double d),
                 1.0 / norm4d(a, b, c, d))
CONVLAB_FUNCTION(double, rhypot, (double x, double y), 1.0 / std::hypot(x, y))
/// exp(x²) erfc(x); beyond 25 by its asymptotic series, whose next term is below 2^-53.
inline double erfcx(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double s = 1 / (2 * x * x);
  return (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)))) / (x * std::sqrt(M_PI));
}
/// The x with erfc(x) = y, by Newton's method on the logarithm, which is nearly a parabola.
inline double erfcinv(double y) {
  if (!(y > 0 && y < 2)) return y == 0 ? INFINITY : y == 2 ? -INFINITY : NAN;
  if (y > 1) return -erfcinv(2 - y);
  double x = std::sqrt(std::fmax(0.0, -std::log(y * (2 - y))));
  for (int i = 0; i < 40; ++i) {
    const double step = std::log(std::erfc(x) / y) * erfcx(x) * std::sqrt(M_PI) / 2;
    x += step;
    if (std::fabs(step) <= 1e-16 * x) break;
  }
  return x;
}
/// The x with erf(x) = y: near 0 on erf itself, where 1 - y loses digits.
inline double erfinv(double y) {
  if (!(std::fabs(y) < 0.5)) return y < 0 ? -erfcinv(1 + y) : erfcinv(1 - y);
  double x = y;
  for (int i = 0; i < 8; ++i) x -= (std::erf(x) - y) * std::sqrt(M_PI) / 2 * std::exp(x * x);
  return x;
}
CONVLAB_FUNCTION(double, normcdfinv, (double y), -M_SQRT2* erfcinv(2 * y))
/// By its series, whose terms all have one sign. @param first  the term without x²/4
inline double modified_bessel(double first, int order, double x) {
  double sum = first;
  double term = first;
  for (int k = 1; std::fabs(term) > 1e-17 * std::fabs(sum); ++k) {
    term *= x * x / 4 / k / (k + order);
    sum += term;
  }
  return sum;
}
CONVLAB_FUNCTION(double, cyl_bessel_i0, (double x), modified_bessel(1, 0, x))
CONVLAB_FUNCTION(double, cyl_bessel_i1, (double x), modified_bessel(x / 2, 1, x))
/// The normal distribution's cumulative probability.
CONVLAB_FUNCTION(double, normcdf, (double x), 0.5 * std::erfc(-x * 0.70710678118654752440))
/// sin(pi x) and cos(pi x), with exact zeros.
inline double sinpi(double x) {
  const double turn = std::remainder(x, 2.0);
  return std::sin(M_PI * (std::fabs(turn) > 0.5 ? std::copysign(1.0, turn) - turn : turn));
}
CONVLAB_FUNCTION(double, cospi, (double x), sinpi(0.5 - std::fabs(std::remainder(x, 2.0))))
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
// The same of floats, rounded once.
CONVLAB_FUNCTION(float, sinpif, (float x), sinpi(static_cast<double>(x)))
CONVLAB_FUNCTION(float, cospif, (float x), cospi(static_cast<double>(x)))
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
CONVLAB_FUNCTION(float, rsqrtf, (float x), rsqrt(static_cast<double>(x)))
CONVLAB_FUNCTION(float, __frsqrt_rn, (float x), rsqrt(static_cast<double>(x)))
CONVLAB_FUNCTION(float, rcbrtf, (float x), rcbrt(static_cast<double>(x)))
CONVLAB_FUNCTION(float, rnorm3df, (float a, float b, float c), rnorm3d(a, b, c))
CONVLAB_FUNCTION(float, normcdff, (float x), normcdf(x))
CONVLAB_FUNCTION(float, norm4df, (float a, float b, float c, float d), norm4d(a, b, c, d))
CONVLAB_FUNCTION(float, rnorm4df, (float a, float b, float c, float d), rnorm4d(a, b, c, d))
CONVLAB_FUNCTION(float, rhypotf, (float x, float y), rhypot(x, y))
/// The length of a vector of n numbers. (norm and rnorm, of doubles, are left out: a kernel may be
/// called so.)
inline float normf(int n, const float* x) {
  double length = 0;
  for (int i = 0; i < n; ++i) length = std::hypot(length, static_cast<double>(x[i]));
  return static_cast<float>(length);
}
CONVLAB_FUNCTION(float, rnormf, (int n, const float* x), 1.0F / normf(n, x))
#define CONVLAB_OF_DOUBLE(name) \
  CONVLAB_FUNCTION(float, name##f, (float x), static_cast<float>(name(static_cast<double>(x))))
CONVLAB_OF_DOUBLE(erfcx)
CONVLAB_OF_DOUBLE(erfcinv)
CONVLAB_OF_DOUBLE(erfinv)
CONVLAB_OF_DOUBLE(normcdfinv)
CONVLAB_OF_DOUBLE(cyl_bessel_i0)
CONVLAB_OF_DOUBLE(cyl_bessel_i1)
#undef CONVLAB_OF_DOUBLE

// min and max: a NaN loses, and -0 is below +0, as fminf and fmaxf do on a GPU. Equal numbers have
// equal bits but for zeros, whose signs the bits' union and intersection order.

#define CONVLAB_MINMAX(T, bits_of, from_bits)              \
  inline T min(T a, T b) {                                 \
    if (a == b) return from_bits(bits_of(a) | bits_of(b)); \
    return a < b || b != b ? a : b;                        \
  }                                                        \
  inline T max(T a, T b) {                                 \
    if (a == b) return from_bits(bits_of(a) & bits_of(b)); \
    return a > b || b != b ? a : b;                        \
  }
CONVLAB_MINMAX(float, __float_as_uint, __uint_as_float)
CONVLAB_MINMAX(double, __double_as_longlong, __longlong_as_double)
#undef CONVLAB_MINMAX
#define CONVLAB_MIXED(name)                 \
  inline double name(float a, double b) {   \
    return name(static_cast<double>(a), b); \
  }                                         \
  inline double name(double a, float b) {   \
    return name(a, static_cast<double>(b)); \
  }
CONVLAB_MIXED(min)
CONVLAB_MIXED(max)
#undef CONVLAB_MIXED

// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
