#pragma once

// Integer intrinsics: bits, bytes, high halves of products, dot products of bytes, min and max.
// Source: CUDA Math API, Integer Intrinsics and Integer Mathematical Functions.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's
// NOLINTBEGIN(bugprone-macro-parentheses): macros stand for names and types here

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
constexpr Word dot(Word a, Word b, Word c, unsigned int count, unsigned int first_b) {
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
CONVLAB_OF_TWO(int, mul24, __mul24(x, y))
CONVLAB_OF_TWO(unsigned int, umul24, __umul24(x, y))
CONVLAB_OF_TWO(int, mulhi, __mulhi(x, y))
CONVLAB_OF_TWO(unsigned int, umulhi, __umulhi(x, y))
CONVLAB_OF_TWO(unsigned int, umin, min(x, y))
CONVLAB_OF_TWO(unsigned int, umax, max(x, y))
CONVLAB_OF_TWO(long long, llmin, min(x, y))
CONVLAB_OF_TWO(long long, llmax, max(x, y))
CONVLAB_OF_TWO(unsigned long long, ullmin, min(x, y))
CONVLAB_OF_TWO(unsigned long long, ullmax, max(x, y))
#undef CONVLAB_OF_TWO

// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
