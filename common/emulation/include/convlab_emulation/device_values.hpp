#pragma once

// Values that a GPU has where C++ has none: of casts beyond the range of a type and of shifts by
// its width and more. The rewrite (common/emulation/rewrite/conversions.cpp) puts calls of these
// where kernels cast and shift.

#include <limits>
#include <type_traits>
#include <utility>

namespace convlab::emulation {

/// A floating-point number as a whole one of 32 bits or more: what is too large or too small
/// becomes the limit. A NaN is 0, and 2^63 in 64 bits. Source: an H200
/// (common/emulation/tests/features/arithmetic.cu).
template <class T, class Real>
[[nodiscard]] constexpr T saturated(Real x) {
  using Limits = std::numeric_limits<T>;
  constexpr Real kBeyond = Real(2) * static_cast<Real>(T{1} << (Limits::digits - 1));
  constexpr Real kBelow = std::is_signed_v<T> ? -kBeyond : Real(0);
  if (x >= kBelow && x < kBeyond) return static_cast<T>(x);
  if (x > Real(0)) return Limits::max();
  if (x < Real(0)) return Limits::min();
  return sizeof(T) == 8 ? static_cast<T>(1ULL << 63) : T{0};
}

/// (T)x as a kernel computes it. Narrower numbers are the low bits of one of 32.
template <class T, class X>
[[nodiscard]] constexpr T cast(const X& x) {
  using Whole = std::conditional_t<sizeof(T) >= sizeof(int), T,
                                   std::conditional_t<std::is_signed_v<T>, int, unsigned>>;
  if constexpr (std::is_floating_point_v<X>)
    return static_cast<T>(saturated<Whole, std::remove_cv_t<X>>(x));
  else
    return (T)x;
}

/// What stands between a number and << count.
template <class T>
struct Shifted {
  T value;
};

/// The count of a <<= or >>=.
template <class Count>
struct ShiftCount {
  Count count;
};

/// Marks a shift of device code.
struct DeviceShift {
  template <class Count>
  [[nodiscard]] constexpr ShiftCount<Count> operator=(Count count) const {
    return {count};
  }
};

template <class T, class Count>
[[nodiscard]] constexpr T shift_left(T value, Count count) {
  using Bits = std::make_unsigned_t<T>;
  constexpr unsigned kWidth = 8 * sizeof(T);
  const auto by = static_cast<unsigned>(count);
  return by < kWidth ? static_cast<T>(static_cast<Bits>(value) << by) : T{0};
}
template <class T, class Count>
[[nodiscard]] constexpr T shift_right(T value, Count count) {
  constexpr unsigned kWidth = 8 * sizeof(T);
  const auto by = static_cast<unsigned>(count);
  if (by < kWidth) return static_cast<T>(value >> by);
  return value < T{0} ? static_cast<T>(-1) : T{0};
}

/// Numbers, also of an enum, as C++ promotes them.
template <class T>
using Promoted = decltype(+std::declval<T>());
template <class T>
using IfNumber = std::enable_if_t<std::is_integral_v<Promoted<T>>, int>;
template <class T>
using IfClass = std::enable_if_t<std::is_class_v<std::remove_reference_t<T>>, int>;

template <class T, IfNumber<T> = 0>
[[nodiscard]] constexpr Shifted<Promoted<T>> operator<<(T value, DeviceShift /*mark*/) {
  return {+value};
}
template <class T, IfNumber<T> = 0>
[[nodiscard]] constexpr Shifted<Promoted<T>> operator>>(T value, DeviceShift /*mark*/) {
  return {+value};
}
// A class has shifts of its own.
template <class T, IfClass<T> = 0>
[[nodiscard]] constexpr Shifted<T&&> operator<<(T&& value, DeviceShift /*mark*/) {
  return {static_cast<T&&>(value)};
}
template <class T, IfClass<T> = 0>
[[nodiscard]] constexpr Shifted<T&&> operator>>(T&& value, DeviceShift /*mark*/) {
  return {static_cast<T&&>(value)};
}

template <class T, class Count>
[[nodiscard]] constexpr decltype(auto) operator<<(Shifted<T> shifted, Count&& count) {
  if constexpr (std::is_integral_v<T>)
    return shift_left(shifted.value, static_cast<Promoted<Count>>(count));
  else
    return static_cast<T>(shifted.value) << static_cast<Count&&>(count);
}
template <class T, class Count>
[[nodiscard]] constexpr decltype(auto) operator>>(Shifted<T> shifted, Count&& count) {
  if constexpr (std::is_integral_v<T>)
    return shift_right(shifted.value, static_cast<Promoted<Count>>(count));
  else
    return static_cast<T>(shifted.value) >> static_cast<Count&&>(count);
}

template <class T, class Count>
constexpr T& operator<<=(T& value, ShiftCount<Count> by) {
  if constexpr (std::is_integral_v<T>)
    return value = static_cast<T>(shift_left(+value, +by.count));
  else
    return value <<= by.count;
}
template <class T, class Count>
constexpr T& operator>>=(T& value, ShiftCount<Count> by) {
  if constexpr (std::is_integral_v<T>)
    return value = static_cast<T>(shift_right(+value, +by.count));
  else
    return value >>= by.count;
}

}  // namespace convlab::emulation
