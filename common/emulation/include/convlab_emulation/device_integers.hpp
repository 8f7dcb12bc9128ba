#pragma once

// Integer intrinsics: bits, bytes, high halves of products, dot products of bytes, min and max.
// Source: CUDA Math API, Integer Intrinsics and Integer Mathematical Functions.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's
// NOLINTBEGIN(bugprone-macro-parentheses): macros stand for names and types here

inline int __popc(unsigned int x) {
  return convlab::emulation::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return convlab::emulation::popcount(x);
}
inline int __clz(int x) {
  return convlab::emulation::countl_zero(static_cast<unsigned int>(x));
}
inline int __clzll(long long x) {
  return convlab::emulation::countl_zero(static_cast<unsigned long long>(x));
}
/// Position of the lowest set bit, counted from 1; 0 if there is none.
inline int __ffs(int x) {
  return x == 0 ? 0 : convlab::emulation::countr_zero(static_cast<unsigned int>(x)) + 1;
}
inline int __ffsll(long long x) {
  return x == 0 ? 0 : convlab::emulation::countr_zero(static_cast<unsigned long long>(x)) + 1;
}
inline unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
  x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
  x = (x >> 4 & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4;
  x = (x >> 8 & 0x00ff00ffU) | (x & 0x00ff00ffU) << 8;
  return x >> 16 | x << 16;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned int>(x))) << 32 |
         __brev(static_cast<unsigned int>(x >> 32));
}

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
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) << (shift & 31U) >> 32);
}
inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (shift & 31U));
}
inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// Products.

inline int __mulhi(int x, int y) {
  return static_cast<int>(std::int64_t{x} * y >> 32);
}
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(std::uint64_t{x} * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  const std::uint64_t x_low = x & 0xffffffffU;
  const std::uint64_t x_high = x >> 32;
  const std::uint64_t y_low = y & 0xffffffffU;
  const std::uint64_t y_high = y >> 32;
  const std::uint64_t middle = x_high * y_low + (x_low * y_low >> 32);
  const std::uint64_t carried = x_low * y_high + (middle & 0xffffffffU);
  return x_high * y_high + (middle >> 32) + (carried >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  const auto a = static_cast<unsigned long long>(x);
  const auto b = static_cast<unsigned long long>(y);
  // A negative factor counts 2^64 too much.
  return static_cast<long long>(__umul64hi(a, b) - (x < 0 ? b : 0) - (y < 0 ? a : 0));
}
/// Low 32 bits of the product of the low 24 bits.
inline int __mul24(int x, int y) {
  const auto extend = [](int value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << 8) >> 8;
  };
  return static_cast<int>(static_cast<std::uint32_t>(std::int64_t{extend(x)} * extend(y)));
}
inline unsigned int __umul24(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(std::uint64_t{x & 0xffffffU} * (y & 0xffffffU));
}
// Averages without overflow, rounded down and up; sums of absolute differences.

inline int __hadd(int x, int y) {
  return static_cast<int>((std::int64_t{x} + y) >> 1);
}
inline int __rhadd(int x, int y) {
  return static_cast<int>((std::int64_t{x} + y + 1) >> 1);
}
inline unsigned int __uhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} + y) >> 1);
}
inline unsigned int __urhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} + y + 1) >> 1);
}
inline unsigned int __sad(int x, int y, unsigned int z) {
  const std::int64_t difference = std::int64_t{x} - y;
  return static_cast<unsigned int>(difference < 0 ? -difference : difference) + z;
}
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return (x > y ? x - y : y - x) + z;
}

// Dot products of bytes, and of bytes with 16-bit numbers, added to c; sums wrap round.

namespace convlab::emulation {

template <class T>
constexpr std::int32_t part(unsigned int word, unsigned int index) {
  return static_cast<T>(word >> (8 * sizeof(T) * index));
}

template <class Byte>
constexpr unsigned int dot_of_four(unsigned int a, unsigned int b, unsigned int c) {
  for (unsigned int i = 0; i < 4; ++i) {
    c += static_cast<unsigned int>(part<Byte>(a, i) * part<Byte>(b, i));
  }
  return c;
}

template <class Short, class Byte>
constexpr unsigned int dot_of_two(unsigned int a, unsigned int b, unsigned int c,
                                  unsigned int first_byte) {
  for (unsigned int i = 0; i < 2; ++i) {
    c += static_cast<unsigned int>(part<Short>(a, i) * part<Byte>(b, first_byte + i));
  }
  return c;
}

}  // namespace convlab::emulation

inline int __dp4a(int a, int b, int c) {
  return static_cast<int>(convlab::emulation::dot_of_four<std::int8_t>(
      static_cast<unsigned int>(a), static_cast<unsigned int>(b), static_cast<unsigned int>(c)));
}
inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
  return convlab::emulation::dot_of_four<std::uint8_t>(a, b, c);
}
inline int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(convlab::emulation::bit_cast<int>(a), convlab::emulation::bit_cast<int>(b), c);
}
inline unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return __dp4a(convlab::emulation::bit_cast<unsigned int>(a),
                convlab::emulation::bit_cast<unsigned int>(b), c);
}
inline int __dp2a_lo(int a, int b, int c) {
  return static_cast<int>(convlab::emulation::dot_of_two<std::int16_t, std::int8_t>(
      static_cast<unsigned int>(a), static_cast<unsigned int>(b), static_cast<unsigned int>(c), 0));
}
inline int __dp2a_hi(int a, int b, int c) {
  return static_cast<int>(convlab::emulation::dot_of_two<std::int16_t, std::int8_t>(
      static_cast<unsigned int>(a), static_cast<unsigned int>(b), static_cast<unsigned int>(c), 2));
}
inline unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int c) {
  return convlab::emulation::dot_of_two<std::uint16_t, std::uint8_t>(a, b, c, 0);
}
inline unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int c) {
  return convlab::emulation::dot_of_two<std::uint16_t, std::uint8_t>(a, b, c, 2);
}

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
#define CONVLAB_ALSO_NAMED(T, name, function) \
  inline T name(T x, T y) {                   \
    return function(x, y);                    \
  }
CONVLAB_ALSO_NAMED(int, mul24, __mul24)
CONVLAB_ALSO_NAMED(unsigned int, umul24, __umul24)
CONVLAB_ALSO_NAMED(int, mulhi, __mulhi)
CONVLAB_ALSO_NAMED(unsigned int, umulhi, __umulhi)
CONVLAB_ALSO_NAMED(unsigned int, umin, min)
CONVLAB_ALSO_NAMED(unsigned int, umax, max)
CONVLAB_ALSO_NAMED(long long, llmin, min)
CONVLAB_ALSO_NAMED(long long, llmax, max)
CONVLAB_ALSO_NAMED(unsigned long long, ullmin, min)
CONVLAB_ALSO_NAMED(unsigned long long, ullmax, max)
#undef CONVLAB_ALSO_NAMED

// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
