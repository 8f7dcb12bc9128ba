#pragma once

// SIMD intrinsics: two halves or four bytes in one word, and the fused minima and maxima (DPX).
// Source: CUDA Math API, SIMD Intrinsics; how __vavgs2 and __vavgs4 round: NVIDIA's
// simd_functions.h, (a + b + (a + b >= 0)) >> 1.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/device_integers.hpp"

namespace convlab::emulation {

/// operation(part of each word) for every part of type T, put together again; what the operation
/// returns is cut to the part's bits.
template <class T, class Operation, class... Words>
constexpr unsigned int for_each_part(Operation operation, Words... words) {
  constexpr unsigned int kBits = 8 * sizeof(T);
  unsigned int result = 0;
  for (unsigned int shift = 0; shift < 32; shift += kBits) {
    const auto part = static_cast<std::make_unsigned_t<T>>(
        operation(static_cast<std::int32_t>(static_cast<T>(words >> shift))...));
    result |= static_cast<unsigned int>(part) << shift;
  }
  return result;
}

template <class T>
constexpr std::int32_t saturated(std::int32_t value) {
  constexpr std::int32_t kLeast = std::numeric_limits<T>::min();
  constexpr std::int32_t kMost = std::numeric_limits<T>::max();
  return value < kLeast ? kLeast : value > kMost ? kMost : value;
}

/// The sum of all parts.
template <class T>
constexpr unsigned int sum_of_parts(unsigned int word) {
  unsigned int sum = 0;
  for (unsigned int shift = 0; shift < 32; shift += 8 * sizeof(T))
    sum += static_cast<T>(word >> shift);
  return sum;
}

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's
// NOLINTBEGIN(bugprone-macro-parentheses): macros stand for names and types here

// One expression in x and y for halves (2) and bytes (4).

#define CONVLAB_UNARY(name, T2, T4, expression2, expression4)                            \
  inline unsigned int name##2(unsigned int a) {                                          \
    return convlab::emulation::for_each_part<T2>([](auto x) { return expression2; }, a); \
  }                                                                                      \
  inline unsigned int name##4(unsigned int a) {                                          \
    return convlab::emulation::for_each_part<T4>([](auto x) { return expression4; }, a); \
  }
#define CONVLAB_SATURATED(T, ...) convlab::emulation::saturated<T>(__VA_ARGS__)
CONVLAB_UNARY(__vabs, std::int16_t, std::int8_t, x < 0 ? -x : x, x < 0 ? -x : x)
CONVLAB_UNARY(__vabsss, std::int16_t, std::int8_t, CONVLAB_SATURATED(std::int16_t, x < 0 ? -x : x),
              CONVLAB_SATURATED(std::int8_t, x < 0 ? -x : x))
CONVLAB_UNARY(__vneg, std::int16_t, std::int8_t, -x, -x)
CONVLAB_UNARY(__vnegss, std::int16_t, std::int8_t, CONVLAB_SATURATED(std::int16_t, -x),
              CONVLAB_SATURATED(std::int8_t, -x))
#undef CONVLAB_UNARY

#define CONVLAB_BINARY_OF(name, T, expression)                                                    \
  inline unsigned int name(unsigned int a, unsigned int b) {                                      \
    return convlab::emulation::for_each_part<T>([](auto x, auto y) { return expression; }, a, b); \
  }
#define CONVLAB_SIGNED(name, expression)               \
  CONVLAB_BINARY_OF(name##2, std::int16_t, expression) \
  CONVLAB_BINARY_OF(name##4, std::int8_t, expression)
#define CONVLAB_UNSIGNED(name, expression)              \
  CONVLAB_BINARY_OF(name##2, std::uint16_t, expression) \
  CONVLAB_BINARY_OF(name##4, std::uint8_t, expression)
#define CONVLAB_BINARY_SATURATED(name, T2, T4, expression)          \
  CONVLAB_BINARY_OF(name##2, T2, CONVLAB_SATURATED(T2, expression)) \
  CONVLAB_BINARY_OF(name##4, T4, CONVLAB_SATURATED(T4, expression))
CONVLAB_UNSIGNED(__vadd, x + y)
CONVLAB_UNSIGNED(__vsub, x - y)
CONVLAB_BINARY_SATURATED(__vaddss, std::int16_t, std::int8_t, x + y)
CONVLAB_BINARY_SATURATED(__vaddus, std::uint16_t, std::uint8_t, x + y)
CONVLAB_BINARY_SATURATED(__vsubss, std::int16_t, std::int8_t, x - y)
CONVLAB_BINARY_SATURATED(__vsubus, std::uint16_t, std::uint8_t, x - y)
CONVLAB_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)
CONVLAB_UNSIGNED(__vavgu, (x + y + 1) >> 1)
CONVLAB_UNSIGNED(__vhaddu, (x + y) >> 1)
CONVLAB_SIGNED(__vabsdiffs, x < y ? y - x : x - y)
CONVLAB_UNSIGNED(__vabsdiffu, x < y ? y - x : x - y)
CONVLAB_SIGNED(__vmaxs, x > y ? x : y)
CONVLAB_UNSIGNED(__vmaxu, x > y ? x : y)
CONVLAB_SIGNED(__vmins, x < y ? x : y)
CONVLAB_UNSIGNED(__vminu, x < y ? x : y)

// Comparisons: all bits of the part, or the number 1.
#define CONVLAB_COMPARISON(KIND, name, operation) \
  KIND(__vcmp##name, x operation y ? -1 : 0)      \
  KIND(__vset##name, x operation y ? 1 : 0)
CONVLAB_COMPARISON(CONVLAB_UNSIGNED, eq, ==)
CONVLAB_COMPARISON(CONVLAB_UNSIGNED, ne, !=)
CONVLAB_COMPARISON(CONVLAB_SIGNED, ges, >=)
CONVLAB_COMPARISON(CONVLAB_SIGNED, gts, >)
CONVLAB_COMPARISON(CONVLAB_SIGNED, les, <=)
CONVLAB_COMPARISON(CONVLAB_SIGNED, lts, <)
CONVLAB_COMPARISON(CONVLAB_UNSIGNED, geu, >=)
CONVLAB_COMPARISON(CONVLAB_UNSIGNED, gtu, >)
CONVLAB_COMPARISON(CONVLAB_UNSIGNED, leu, <=)
CONVLAB_COMPARISON(CONVLAB_UNSIGNED, ltu, <)
#undef CONVLAB_COMPARISON
#undef CONVLAB_BINARY_SATURATED
#undef CONVLAB_UNSIGNED
#undef CONVLAB_SIGNED
#undef CONVLAB_BINARY_OF
#undef CONVLAB_SATURATED

// Sums of absolute differences.
inline unsigned int __vsads2(unsigned int a, unsigned int b) {
  return convlab::emulation::sum_of_parts<std::uint16_t>(__vabsdiffs2(a, b));
}
inline unsigned int __vsadu2(unsigned int a, unsigned int b) {
  return convlab::emulation::sum_of_parts<std::uint16_t>(__vabsdiffu2(a, b));
}
inline unsigned int __vsads4(unsigned int a, unsigned int b) {
  return convlab::emulation::sum_of_parts<std::uint8_t>(__vabsdiffs4(a, b));
}
inline unsigned int __vsadu4(unsigned int a, unsigned int b) {
  return convlab::emulation::sum_of_parts<std::uint8_t>(__vabsdiffu4(a, b));
}

// Minima and maxima of several numbers, also of a sum, which wraps round; _relu: none below 0.

#define CONVLAB_DPX_WORD(T, suffix)                                                     \
  inline T __vimax3_##suffix(T a, T b, T c) {                                           \
    return max(max(a, b), c);                                                           \
  }                                                                                     \
  inline T __vimin3_##suffix(T a, T b, T c) {                                           \
    return min(min(a, b), c);                                                           \
  }                                                                                     \
  inline T __viaddmax_##suffix(T a, T b, T c) {                                         \
    return max(static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c); \
  }                                                                                     \
  inline T __viaddmin_##suffix(T a, T b, T c) {                                         \
    return min(static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c); \
  }                                                                                     \
  inline T __vibmax_##suffix(T a, T b, bool* is_first) {                                \
    *is_first = a >= b;                                                                 \
    return max(a, b);                                                                   \
  }                                                                                     \
  inline T __vibmin_##suffix(T a, T b, bool* is_first) {                                \
    *is_first = a <= b;                                                                 \
    return min(a, b);                                                                   \
  }
CONVLAB_DPX_WORD(int, s32)
CONVLAB_DPX_WORD(unsigned int, u32)
#undef CONVLAB_DPX_WORD

#define CONVLAB_DPX_HALVES(suffix, maximum, minimum, T)                                      \
  inline unsigned int __vimax3_##suffix(unsigned int a, unsigned int b, unsigned int c) {    \
    return maximum(maximum(a, b), c);                                                        \
  }                                                                                          \
  inline unsigned int __vimin3_##suffix(unsigned int a, unsigned int b, unsigned int c) {    \
    return minimum(minimum(a, b), c);                                                        \
  }                                                                                          \
  inline unsigned int __viaddmax_##suffix(unsigned int a, unsigned int b, unsigned int c) {  \
    return maximum(__vadd2(a, b), c);                                                        \
  }                                                                                          \
  inline unsigned int __viaddmin_##suffix(unsigned int a, unsigned int b, unsigned int c) {  \
    return minimum(__vadd2(a, b), c);                                                        \
  }                                                                                          \
  inline unsigned int __vibmax_##suffix(unsigned int a, unsigned int b, bool* high_is_first, \
                                        bool* low_is_first) {                                \
    *high_is_first = static_cast<T>(a >> 16) >= static_cast<T>(b >> 16);                     \
    *low_is_first = static_cast<T>(a) >= static_cast<T>(b);                                  \
    return maximum(a, b);                                                                    \
  }                                                                                          \
  inline unsigned int __vibmin_##suffix(unsigned int a, unsigned int b, bool* high_is_first, \
                                        bool* low_is_first) {                                \
    *high_is_first = static_cast<T>(a >> 16) <= static_cast<T>(b >> 16);                     \
    *low_is_first = static_cast<T>(a) <= static_cast<T>(b);                                  \
    return minimum(a, b);                                                                    \
  }
CONVLAB_DPX_HALVES(s16x2, __vmaxs2, __vmins2, std::int16_t)
CONVLAB_DPX_HALVES(u16x2, __vmaxu2, __vminu2, std::uint16_t)
#undef CONVLAB_DPX_HALVES

#define CONVLAB_DPX_RELU(name)                                                            \
  inline int name##_s32_relu(int a, int b, int c) {                                       \
    return max(name##_s32(a, b, c), 0);                                                   \
  }                                                                                       \
  inline unsigned int name##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
    return __vmaxs2(name##_s16x2(a, b, c), 0);                                            \
  }
CONVLAB_DPX_RELU(__vimax3)
CONVLAB_DPX_RELU(__vimin3)
CONVLAB_DPX_RELU(__viaddmax)
CONVLAB_DPX_RELU(__viaddmin)
#undef CONVLAB_DPX_RELU
inline int __vimax_s32_relu(int a, int b) {
  return max(max(a, b), 0);
}
inline int __vimin_s32_relu(int a, int b) {
  return max(min(a, b), 0);
}
inline unsigned int __vimax_s16x2_relu(unsigned int a, unsigned int b) {
  return __vmaxs2(__vmaxs2(a, b), 0);
}
inline unsigned int __vimin_s16x2_relu(unsigned int a, unsigned int b) {
  return __vmaxs2(__vmins2(a, b), 0);
}

// NOLINTEND(bugprone-macro-parentheses)
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
