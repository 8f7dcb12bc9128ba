#pragma once

// Casts between integers and floating point in any rounding mode, and the bits of one type read as
// another. A floating-point number beyond an integer's range becomes the nearest limit, a NaN 0 or,
// for 64-bit integers, 2^63; a plain C++ cast of such a number is undefined on the host.
// Source: CUDA Math API, Type Casting Intrinsics.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's
// NOLINTBEGIN(bugprone-macro-parentheses): macros stand for names and types here

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
#define CONVLAB_CONVERT(from, to, exact, name, suffix, mode) \
  CONVLAB_FUNCTION(                                          \
      to, name##suffix, (from x),                            \
      (convlab::emulation::convert<to, exact>(x, convlab::emulation::Rounding::mode)))
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
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, int, float, convlab::emulation::Int128, __int2float)
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, unsigned int, float, convlab::emulation::Int128, __uint2float)
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, long long, float, convlab::emulation::Int128, __ll2float)
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, unsigned long long, float, convlab::emulation::Int128,
                     __ull2float)
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, long long, double, convlab::emulation::Int128, __ll2double)
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, unsigned long long, double, convlab::emulation::Int128,
                     __ull2double)
CONVLAB_IN_ALL_MODES(CONVLAB_CONVERT, double, float, double, __double2float)
#undef CONVLAB_IN_ALL_MODES
#undef CONVLAB_CONVERT
#undef CONVLAB_TO_INTEGER

CONVLAB_FUNCTION(double, __int2double_rn, (int x), x)
CONVLAB_FUNCTION(double, __uint2double_rn, (unsigned int x), x)

// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
