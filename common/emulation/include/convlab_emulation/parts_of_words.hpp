#pragma once

// Device functions that compute with two halves or four bytes of a word, each part by itself, and
// those for dynamic programming (DPX), which take whole words, too. Source: CUDA Math API, SIMD
// Intrinsics; PTX ISA, Video Instructions, for how averages round.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"

namespace convlab::emulation {

template <typename T>
constexpr auto larger(T a, AsIs<T> b) {
  return a < b ? b : a;
}
template <typename T>
constexpr auto smaller(T a, AsIs<T> b) {
  return b < a ? b : a;
}

/// f of the parts, of type T, that lie at the same place of the words. What leaves its part wraps.
template <typename T, typename F, typename... Words>
constexpr auto of_parts(F f, Words... words) {
  using Bits = std::make_unsigned_t<T>;
  using Number = std::conditional_t<sizeof(T) == 4, long long, int>;
  unsigned result = 0;
  for (unsigned at = 0; at < 32; at += 8 * sizeof(T))
    result |= unsigned{static_cast<Bits>(f(Number{static_cast<T>(words >> at)}...))} << at;
  return result;
}

/// The value of the type that is nearest to x.
template <typename T>
constexpr auto clamped(int x) {
  return smaller(larger<int>(x, std::numeric_limits<T>::min()), std::numeric_limits<T>::max());
}

template <typename T>
constexpr auto sum_of_parts(unsigned word) {
  unsigned sum = 0;
  for (unsigned at = 0; at < 32; at += 8 * sizeof(T)) sum += static_cast<T>(word >> at);
  return sum;
}

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's

// Of halves and of bytes; `Sign` is u or nothing, T the type of a part in the expression.
#define CONVLAB_PARTS_IN(name, Part, words, parts, expression, ...)                       \
  constexpr unsigned name words {                                                         \
    using T [[maybe_unused]] = std::Part;                                                 \
    return convlab::emulation::of_parts<T>([] parts { return expression; }, __VA_ARGS__); \
  }
#define CONVLAB_OF_PART(name, expression)                                  \
  CONVLAB_PARTS_IN(name##2, int16_t, (unsigned a), (int x), expression, a) \
  CONVLAB_PARTS_IN(name##4, int8_t, (unsigned a), (int x), expression, a)
#define CONVLAB_TWO(name, Part, expression) \
  CONVLAB_PARTS_IN(name, Part, (unsigned a, unsigned b), (int x, int y), expression, a, b)
#define CONVLAB_OF_PARTS(name, Sign, expression)  \
  CONVLAB_TWO(name##2, Sign##int16_t, expression) \
  CONVLAB_TWO(name##4, Sign##int8_t, expression)
#define CONVLAB_OF_SIGNED_AND_UNSIGNED(name, expression) \
  CONVLAB_OF_PARTS(name##s, , expression)                \
  CONVLAB_OF_PARTS(name##u, u, expression)
// All bits of a part, or its lowest one, where a comparison holds.
#define CONVLAB_COMPARED(name, expression)                    \
  CONVLAB_OF_SIGNED_AND_UNSIGNED(__vcmp##name, -(expression)) \
  CONVLAB_OF_SIGNED_AND_UNSIGNED(__vset##name, expression)

CONVLAB_OF_PART(__vabs, x < 0 ? -x : x)
CONVLAB_OF_PART(__vabsss, convlab::emulation::clamped<T>(x < 0 ? -x : x))
CONVLAB_OF_PART(__vneg, -x)
CONVLAB_OF_PART(__vnegss, convlab::emulation::clamped<T>(-x))
CONVLAB_OF_PARTS(__vadd, , x + y)
CONVLAB_OF_PARTS(__vsub, , x - y)
CONVLAB_OF_PARTS(__vaddss, , convlab::emulation::clamped<T>(x + y))
CONVLAB_OF_PARTS(__vsubss, , convlab::emulation::clamped<T>(x - y))
CONVLAB_OF_PARTS(__vaddus, u, convlab::emulation::clamped<T>(x + y))
CONVLAB_OF_PARTS(__vsubus, u, convlab::emulation::clamped<T>(x - y))
CONVLAB_OF_PARTS(__vhaddu, u, (x + y) >> 1)
CONVLAB_OF_SIGNED_AND_UNSIGNED(__vavg, (x + y + (x + y >= 0)) >> 1)
CONVLAB_OF_SIGNED_AND_UNSIGNED(__vabsdiff, x < y ? y - x : x - y)
CONVLAB_OF_SIGNED_AND_UNSIGNED(__vmax, x < y ? y : x)
CONVLAB_OF_SIGNED_AND_UNSIGNED(__vmin, x < y ? x : y)
CONVLAB_COMPARED(ge, x >= y)
CONVLAB_COMPARED(gt, x > y)
CONVLAB_COMPARED(le, x <= y)
CONVLAB_COMPARED(lt, x < y)
CONVLAB_OF_PARTS(__vcmpeq, , -(x == y))
CONVLAB_OF_PARTS(__vcmpne, , -(x != y))
CONVLAB_OF_PARTS(__vseteq, , x == y)
CONVLAB_OF_PARTS(__vsetne, , x != y)
#define CONVLAB_SUM_OF_DIFFERENCES(name)                                        \
  constexpr unsigned __vsad##name(unsigned x, unsigned y) {                     \
    using T = std::conditional_t<#name[1] == '2', std::uint16_t, std::uint8_t>; \
    return convlab::emulation::sum_of_parts<T>(__vabsdiff##name(x, y));         \
  }
CONVLAB_SUM_OF_DIFFERENCES(s2)
CONVLAB_SUM_OF_DIFFERENCES(s4)
CONVLAB_SUM_OF_DIFFERENCES(u2)
CONVLAB_SUM_OF_DIFFERENCES(u4)
#undef CONVLAB_SUM_OF_DIFFERENCES
// Of words and of two halves, for three numbers and for two. A sum wraps before it is compared.
#define CONVLAB_DPX_AS(name, Word, Part, expression)                  \
  constexpr Word name(Word a, Word b, Word c) {                       \
    using T [[maybe_unused]] = std::Part;                             \
    return static_cast<Word>(convlab::emulation::of_parts<T>(         \
        [](auto x, auto y, auto z) { return expression; }, a, b, c)); \
  }
#define CONVLAB_DPX_SIGNED(name, relu, expression)           \
  CONVLAB_DPX_AS(name##_s32##relu, int, int32_t, expression) \
  CONVLAB_DPX_AS(name##_s16x2##relu, unsigned, int16_t, expression)
#define CONVLAB_DPX(name, expression)                                                       \
  CONVLAB_DPX_SIGNED(name, , expression)                                                    \
  CONVLAB_DPX_SIGNED(name, _relu, (convlab::emulation::larger<decltype(x)>(0, expression))) \
  CONVLAB_DPX_AS(name##_u32, unsigned, uint32_t, expression)                                \
  CONVLAB_DPX_AS(name##_u16x2, unsigned, uint16_t, expression)
CONVLAB_DPX(__vimax3, convlab::emulation::larger(convlab::emulation::larger(x, y), z))
CONVLAB_DPX(__vimin3, convlab::emulation::smaller(convlab::emulation::smaller(x, y), z))
CONVLAB_DPX(__viaddmax, (convlab::emulation::larger<decltype(x)>(static_cast<T>(x + y), z)))
CONVLAB_DPX(__viaddmin, (convlab::emulation::smaller<decltype(x)>(static_cast<T>(x + y), z)))
#define CONVLAB_DPX_RELU(name, Word, suffix)              \
  constexpr Word name##_##suffix##_relu(Word a, Word b) { \
    return name##3_##suffix##_relu(a, b, b);              \
  }
// These also tell whether the result is the first number.
#define CONVLAB_DPX_TOLD(name, of, Word, suffix)                \
  constexpr Word name##_##suffix(Word a, Word b, bool* first) { \
    const Word result = of##3_##suffix(a, b, b);                \
    *first = result == a;                                       \
    return result;                                              \
  }
#define CONVLAB_DPX_TOLD_OF_HALVES(name, of, suffix)                                  \
  constexpr unsigned name##_##suffix(unsigned a, unsigned b, bool* high, bool* low) { \
    const unsigned result = of##3_##suffix(a, b, b);                                  \
    *high = result >> 16 == a >> 16;                                                  \
    *low = (result & 0xffffU) == (a & 0xffffU);                                       \
    return result;                                                                    \
  }
#define CONVLAB_DPX_OF_TWO(name, of)          \
  CONVLAB_DPX_RELU(of, int, s32)              \
  CONVLAB_DPX_RELU(of, unsigned, s16x2)       \
  CONVLAB_DPX_TOLD(name, of, int, s32)        \
  CONVLAB_DPX_TOLD(name, of, unsigned, u32)   \
  CONVLAB_DPX_TOLD_OF_HALVES(name, of, s16x2) \
  CONVLAB_DPX_TOLD_OF_HALVES(name, of, u16x2)
CONVLAB_DPX_OF_TWO(__vibmax, __vimax)
CONVLAB_DPX_OF_TWO(__vibmin, __vimin)
#undef CONVLAB_DPX_OF_TWO
#undef CONVLAB_DPX_TOLD_OF_HALVES
#undef CONVLAB_DPX_TOLD
#undef CONVLAB_DPX_RELU
#undef CONVLAB_DPX
#undef CONVLAB_DPX_SIGNED
#undef CONVLAB_DPX_AS
#undef CONVLAB_COMPARED
#undef CONVLAB_OF_SIGNED_AND_UNSIGNED
#undef CONVLAB_OF_PARTS
#undef CONVLAB_OF_PART
#undef CONVLAB_TWO
#undef CONVLAB_PARTS_IN

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
