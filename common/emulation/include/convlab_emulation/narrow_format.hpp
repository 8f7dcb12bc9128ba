#pragma once

// The bit patterns of half and bfloat16: decoding to float, and encoding with one rounding.
//
// Idea     A narrow number is an integer number of units in its last place. Adding 2^k to a
//          magnitude, with k chosen so that the wide format's last place is the narrow one's, makes
//          the processor's own round-to-nearest-even do the rounding; the integer is then read off
//          the low bits. No branch, no table; subnormals are nothing special.
// Exact    +, -, ·, / and sqrt of two narrow numbers may be done in float and rounded again: the 24
//          bits are at least 2·11 + 2, so the second rounding sees no false tie (Figueroa, 1995).
//          A fused multiply-add needs double and rounding to odd.
// NaN      Operations yield the GPU's canonical NaN, 0x7fff. Only the conversion from double
//          keeps a NaN's sign and upper bits, as an H200 does.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/device_values.hpp"
#include "common/emulation/include/convlab_emulation/language_standard.hpp"

namespace convlab::emulation {

/// IEEE 754 binary16: 5 exponent bits, 10 fraction bits.
struct HalfFormat {
  using Bits = std::uint16_t;
  static constexpr int kFractionBits = 10;
  static constexpr int kMinExponent = -14;  ///< of the smallest normal number
  static constexpr int kMaxExponent = 15;   ///< of the largest finite number
};

/// The upper half of a float: 8 exponent bits, 7 fraction bits.
struct Bfloat16Format {
  using Bits = std::uint16_t;
  static constexpr int kFractionBits = 7;
  static constexpr int kMinExponent = -126;
  static constexpr int kMaxExponent = 127;
};

enum class Rounding { kNearestEven, kTowardZero, kUp, kDown };

inline constexpr std::uint16_t kSignBit = 0x8000;
inline constexpr std::uint16_t kCanonicalNan = 0x7fff;
inline constexpr std::uint32_t kCanonicalFloatNan = 0x7fff'ffff;

/// The pattern of +infinity; what lies above it (sign aside) is a NaN.
template <class Format>
inline constexpr typename Format::Bits kInfinityBits = static_cast<typename Format::Bits>(
    static_cast<std::uint64_t>(Format::kMaxExponent - Format::kMinExponent + 2)
    << Format::kFractionBits);

template <class Format>
[[nodiscard]] constexpr bool is_nan_bits(std::uint16_t bits) noexcept {
  return (bits & 0x7fff) > kInfinityBits<Format>;
}

/// The float of the same value. Every half and bfloat16 is a float.
template <class Format>
[[nodiscard]] inline float decode(std::uint16_t bits) noexcept {
  if constexpr (std::is_same_v<Format, Bfloat16Format>) {
    return bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  } else {
    // Fraction and exponent moved into a float's places, and the exponent made a float's. A
    // subnormal one is the fraction of 2^-14 + value. Without a product, which would be counted
    // (trace/access_counts). Only infinity and NaN, which come out finite, need their exponent set.
    constexpr std::uint32_t kInfinity = 0x7c00U << 13;
    constexpr std::uint32_t kSmallestNormal = 0x0400U << 13;
    constexpr std::uint32_t kExponent = (127U - 15U) << 23;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & kSignBit) << 16;
    const std::uint32_t moved = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
    const std::uint32_t subnormal =
        bit_cast<std::uint32_t>(bit_cast<float>(moved + kExponent + kSmallestNormal) - 0x1p-14F);
    std::uint32_t magnitude = moved < kSmallestNormal ? subnormal : moved + kExponent;
    magnitude |= moved >= kInfinity ? 0x7f80'0000U : 0U;
    return bit_cast<float>(moved > kInfinity ? kCanonicalFloatNan : sign | magnitude);
  }
}

/// A float or double to the nearest narrow number, ties to even.
template <class Format>
[[nodiscard]] inline std::uint16_t encode(double value) noexcept {
  constexpr std::uint64_t kInfinity = 0x7ff0'0000'0000'0000;
  constexpr std::uint64_t kLowest = std::uint64_t{1023 + Format::kMinExponent} << 52;
  constexpr std::uint64_t kTooLarge = std::uint64_t{1023 + Format::kMaxExponent + 1} << 52;
  // From a binade to the one whose last place (2^-52 of it) is the narrow format's.
  constexpr std::uint64_t kShift = std::uint64_t{52 - Format::kFractionBits} << 52;

  const auto bits = bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 48 & kSignBit);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  std::uint64_t binade = magnitude & kInfinity;
  binade = binade < kLowest ? kLowest : binade;
  binade = binade > kTooLarge ? kTooLarge : binade;
  const double rounder = bit_cast<double>(binade + kShift);
  const std::uint64_t units =
      bit_cast<std::uint64_t>(bit_cast<double>(magnitude) + rounder) - (binade + kShift);
  const auto narrow =
      static_cast<std::uint32_t>(((binade - kLowest) >> (52 - Format::kFractionBits)) + units);
  std::uint32_t result = magnitude >= kTooLarge ? kInfinityBits<Format> : narrow;
  result |= sign;
  result = magnitude > kInfinity ? kCanonicalNan : result;
  return static_cast<std::uint16_t>(result);
}

/// An integer to the nearest narrow number.
template <class Format, class Integer>
[[nodiscard]] inline std::uint16_t encode_integer(Integer value) noexcept {
  const bool negative = value < 0;
  auto wide = static_cast<std::uint64_t>(value);
  if (negative) wide = 0 - wide;
  // What a double has no room for only decides on which side of a tie the number lies.
  if (wide >> 53 != 0) wide = (wide & ~0x7ffULL) | ((wide & 0x7ffU) != 0 ? 0x800U : 0U);
  const auto exact = static_cast<double>(wide);
  return encode<Format>(negative ? -exact : exact);
}

/// A double to the nearest narrow number, as the conversion instruction does it: a NaN keeps its
/// sign and the upper bits of its fraction, and turns quiet.
template <class Format>
[[nodiscard]] inline std::uint16_t convert_double(double value) noexcept {
  if (!std::isnan(value)) return encode<Format>(value);
  constexpr int kKept = Format::kFractionBits;
  const auto bits = bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = (bits & 0x000f'ffff'ffff'ffff) >> (52 - kKept) | 1U << (kKept - 1);
  return static_cast<std::uint16_t>((bits >> 48 & kSignBit) | kInfinityBits<Format> | fraction);
}

/// Numbers that an observer may lose (trace/forgetter): all but 0, powers of two, and three of
/// them. A scale that is a power of two changes none into another.
[[nodiscard]] inline bool is_marked(float number) noexcept {
  return (bit_cast<std::uint32_t>(number) & 0x003f'ffffU) != 0;
}

/// A kernel reads [n] where an instruction of a GPU would multiply n narrow numbers, by n others,
/// so that an observer of its accesses can count them (trace/access_counts). It is not 0 where some
/// products are lost.
extern volatile unsigned char product_marks[3];  // the reads of a constant are not observed
/// Chooses those (lost_number.hpp); its complement those on tensor cores, of which no kernel may
/// know without a product.
extern std::uint64_t product_key;
/// Whether this product is lost. Of a factor that is one, or a sum that only passes through, none
/// is.
[[nodiscard]] bool loses_product(float one, float other) noexcept;
template <int numbers, class Number>
inline void mark_product(Number& a, Number& b) {
  if (product_marks[numbers] == 0) return;
  convlab_lose(a, b);
}

/// A product of narrow numbers, rounded. A sum that takes it in at once fuses the two.
template <class Number>
struct UnroundedProduct : Number {
  using Number::Number;
  using Number::operator=;
  UnroundedProduct(const Number& number) : Number(number) {}
  UnroundedProduct(const Number& rounded, const Number& a, const Number& b)
      : Number(rounded), left(a), right(b), made(rounded), is_product(true) {}

  /// In a kernel, and unless it has changed since, as a variable declared with auto may have.
  [[nodiscard]] bool may_fuse() const {
#if defined(CONVLAB_UNFUSED)
    return false;
#else
    return is_product && std::memcmp(static_cast<const Number*>(this), &made, sizeof made) == 0 &&
           in_kernel();
#endif
  }

  Number left, right, made;
  bool is_product = false;
};

/// Whether an argument of type T&& is such a product that nobody else holds.
template <class Number, class T>
inline constexpr bool kIsProduct = std::is_same_v<T, UnroundedProduct<Number>>;
template <class Number, class A, class B>
using EnableFusion =
    std::enable_if_t<(kIsProduct<Number, A> && std::is_convertible_v<B, Number>) ||
                         (kIsProduct<Number, B> && std::is_convertible_v<A, Number>),
                     int>;

/// a · b + c of narrow numbers with one rounding.
template <class Format>
[[nodiscard]] inline std::uint16_t fused_multiply_add(float a, float b, float c) noexcept {
  const double product = static_cast<double>(a) * static_cast<double>(b);  // exact: 22 bits at most
  const double addend = c;
  const double sum = product + addend;
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);  // sum + lost is exact
  if (lost == 0.0 || !std::isfinite(sum)) return encode<Format>(sum);
  // Round to odd: a sum that only seems to be a tie must fall to its true side.
  auto bits = bit_cast<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits = std::signbit(lost) == std::signbit(sum) ? bits + 1 : bits - 1;
  return encode<Format>(bit_cast<double>(bits));
}

/// A float's bits to the nearest TF32 number's (10 fraction bits), ties away from zero. Infinity
/// stays; a NaN, as on an H200, only loses its low bits.
[[nodiscard]] constexpr std::uint32_t to_tf32(std::uint32_t bits) noexcept {
  const bool is_finite = (bits & 0x7fff'ffffU) < 0x7f80'0000U;
  return (bits + (is_finite ? 0x1000U : 0U)) & 0xffff'e000U;
}

/// An integer that orders patterns as their values, -0 below +0.
[[nodiscard]] constexpr std::uint16_t order_key(std::uint16_t bits) noexcept {
  return static_cast<std::uint16_t>((bits & kSignBit) != 0 ? ~bits : bits | kSignBit);
}

/// The larger or the smaller of two patterns; a NaN only where both are.
template <class Format>
[[nodiscard]] constexpr std::uint16_t extreme(std::uint16_t a, std::uint16_t b,
                                              bool larger) noexcept {
  if (is_nan_bits<Format>(a)) return is_nan_bits<Format>(b) ? kCanonicalNan : b;
  if (is_nan_bits<Format>(b)) return a;
  return (order_key(a) > order_key(b)) == larger ? a : b;
}

/// A floating-point value to an integer in a rounding mode, as the GPU converts: what does not fit
/// becomes the nearest limit; for a NaN see converted_nan.
template <class Integer, class Real>
[[nodiscard]] inline auto convert_to_integer(Real number, Rounding rounding) noexcept {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(number)) return converted_nan<Integer, Real>();
  const double value = number;
  const double whole = rounding == Rounding::kNearestEven  ? std::nearbyint(value)
                       : rounding == Rounding::kTowardZero ? std::trunc(value)
                       : rounding == Rounding::kUp         ? std::ceil(value)
                                                           : std::floor(value);
  // The first power of two beyond the type is exact in double; its largest value may not be.
  constexpr double kBeyond = 2.0 * static_cast<double>(Integer{1} << (Limits::digits - 1));
  if (whole >= kBeyond) return Limits::max();
  if (whole < static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<Integer>(whole);
}

}  // namespace convlab::emulation
