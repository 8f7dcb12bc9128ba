#pragma once

// Device mathematics: CUDA's intrinsics and what it has beyond <math.h>. The approximate
// intrinsics (__expf, __sinf, …) are as exact as the host's functions; a GPU's last bits differ.
// Source: CUDA Math API.

// The C headers, not <cmath>: they put the overloads of abs, sqrt, pow, … into the global
// namespace, where CUDA has them.
#include <math.h>    // NOLINT(modernize-deprecated-headers,hicpp-deprecated-headers)
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers,hicpp-deprecated-headers)

#include <cfenv>
#include <cmath>

#include "common/emulation/include/convlab_emulation/device_conversions.hpp"
#include "common/emulation/include/convlab_emulation/device_integers.hpp"

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
T opaque(T value) {
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

#define CONVLAB_OPERATION(Name, parameters, expression) \
  struct Name {                                         \
    template <class T>                                  \
    T operator() parameters const {                     \
      return expression;                                \
    }                                                   \
  };
CONVLAB_OPERATION(Sum, (T a, T b), a + b)
CONVLAB_OPERATION(Difference, (T a, T b), a - b)
CONVLAB_OPERATION(Product, (T a, T b), a* b)
CONVLAB_OPERATION(Quotient, (T a, T b), a / b)
CONVLAB_OPERATION(SquareRoot, (T x), std::sqrt(x))
CONVLAB_OPERATION(FusedMultiplyAdd, (T x, T y, T z), std::fma(x, y, z))
#undef CONVLAB_OPERATION

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's
// NOLINTBEGIN(bugprone-macro-parentheses): macros stand for names and types here

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
CONVLAB_FUNCTION(double, rhypot, (double x, double y), 1.0 / std::hypot(x, y))
CONVLAB_FUNCTION(double, norm3d, (double a, double b, double c), std::hypot(a, b, c))
CONVLAB_FUNCTION(float, norm3df, (float a, float b, float c), std::hypot(a, b, c))
CONVLAB_FUNCTION(double, rnorm3d, (double a, double b, double c), 1.0 / norm3d(a, b, c))
CONVLAB_FUNCTION(double, norm4d, (double a, double b, double c, double d),
                 std::hypot(std::hypot(a, b), std::hypot(c, d)))
CONVLAB_FUNCTION(double, rnorm4d, (double a, double b, double c, double d),
                 1.0 / norm4d(a, b, c, d))
/// The normal distribution's cumulative probability.
CONVLAB_FUNCTION(double, normcdf, (double x), 0.5 * std::erfc(-x * 0.70710678118654752440))
/// Where a function that falls, such as erfc, takes the value.
inline double falls_to(double value, double (*function)(double)) {
  if (!(value >= function(30.0) && value <= function(-30.0))) return std::nan("");
  if (value == function(30.0)) return HUGE_VAL;
  if (value == function(-30.0)) return -HUGE_VAL;
  double low = -30.0;
  double high = 30.0;
  for (double x = 0.0; x != low && x != high; x = low + (high - low) / 2.0)
    (function(x) > value ? low : high) = x;
  return low;
}
CONVLAB_FUNCTION(double, erfcinv, (double x), falls_to(x, [](double y) { return std::erfc(y); }))
CONVLAB_FUNCTION(double, erfinv, (double x), falls_to(-x, [](double y) { return -std::erf(y); }))
CONVLAB_FUNCTION(double, normcdfinv, (double x), -1.41421356237309504880 * erfcinv(2.0 * x))
/// sin(π x), exact where x is a multiple of one half.
inline double sinpi(double x) {
  const double turn = std::remainder(x, 2.0);  // -1 to 1, exact
  if (turn == std::trunc(turn)) return std::copysign(0.0, x);
  if (std::fabs(turn) > 0.5)
    return std::sin((std::copysign(1.0, turn) - turn) * 3.14159265358979323846);
  return std::sin(turn * 3.14159265358979323846);
}
/// cos(π x), exact where x is a multiple of one half.
inline double cospi(double x) {
  const double turn = std::fabs(std::remainder(x, 2.0));
  return turn == 0.5 ? 0.0
                     : (turn < 0.25 ? std::cos(turn * 3.14159265358979323846) : sinpi(0.5 - turn));
}

// The same of floats, rounded once.
CONVLAB_FUNCTION(float, rsqrtf, (float x), rsqrt(static_cast<double>(x)))
CONVLAB_FUNCTION(float, __frsqrt_rn, (float x), rsqrt(static_cast<double>(x)))
CONVLAB_FUNCTION(float, rcbrtf, (float x), rcbrt(static_cast<double>(x)))
CONVLAB_FUNCTION(float, rhypotf, (float x, float y), rhypot(double{x}, double{y}))
CONVLAB_FUNCTION(float, rnorm3df, (float a, float b, float c), rnorm3d(a, b, c))
CONVLAB_FUNCTION(float, norm4df, (float a, float b, float c, float d), norm4d(a, b, c, d))
CONVLAB_FUNCTION(float, rnorm4df, (float a, float b, float c, float d), rnorm4d(a, b, c, d))
CONVLAB_FUNCTION(float, normcdff, (float x), normcdf(x))
CONVLAB_FUNCTION(float, erfcinvf, (float x), erfcinv(x))
CONVLAB_FUNCTION(float, erfinvf, (float x), erfinv(x))
CONVLAB_FUNCTION(float, normcdfinvf, (float x), normcdfinv(x))
CONVLAB_FUNCTION(float, sinpif, (float x), sinpi(x))
CONVLAB_FUNCTION(float, cospif, (float x), cospi(x))

inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

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
