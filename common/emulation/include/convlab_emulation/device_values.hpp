#pragma once

// Values that a GPU has where C++ has none: of conversions beyond the range of a type and of shifts
// by its width and more. The rewrite (common/emulation/rewrite/conversions.cpp) puts these where
// kernels cast, declare whole numbers and shift; it may do so in code of the host, too, which keeps
// the processor's values.

#include <limits>
#include <type_traits>
#include <utility>

namespace convlab::emulation {

[[nodiscard]] bool in_kernel();  // collective.hpp

template <class T, class Real>
[[nodiscard]] constexpr bool is_in_range(Real x) {
  constexpr Real kBeyond =
      Real(2) * static_cast<Real>(T{1} << (std::numeric_limits<T>::digits - 1));
  return x >= (std::is_signed_v<T> ? -kBeyond : Real(0)) && x < kBeyond;
}

/// A NaN as a whole number of 32 bits or more: 0, or where one of the two has 64 bits the highest
/// bit alone. Source: an H200 (common/emulation/tests/features/arithmetic.cu).
template <class T, class Real>
[[nodiscard]] constexpr auto converted_nan() {
  return sizeof(T) == 8 || sizeof(Real) == 8 ? static_cast<T>(1ULL << (8 * sizeof(T) - 1)) : T{0};
}

/// A floating-point number as such a whole one: what is too large or too small becomes the limit.
template <class T, class Real>
[[nodiscard]] constexpr T saturated(Real x) {
  if (is_in_range<T>(x)) return static_cast<T>(x);
  if (x > Real(0)) return std::numeric_limits<T>::max();
  if (x < Real(0)) return std::numeric_limits<T>::min();
  return converted_nan<T, Real>();
}

/// Whether the values of a GPU count. The rewrite may not know whether a kernel calls a function.
[[nodiscard]] constexpr bool is_of_device() {
  return __builtin_is_constant_evaluated() || in_kernel();
}

/// A number as a whole one, as a kernel converts it. Narrower ones are the low bits of one of 32.
template <class T, class Real>
[[nodiscard]] constexpr T converted(Real x) {
  using Whole = std::conditional_t<sizeof(T) >= sizeof(int), T,
                                   std::conditional_t<std::is_signed_v<T>, int, unsigned>>;
  if (is_in_range<Whole>(x)) return static_cast<T>(static_cast<Whole>(x));
  return is_of_device() ? static_cast<T>(saturated<Whole>(x)) : static_cast<T>(x);
}

template <class X>
using IfNoClass = std::enable_if_t<!std::is_class_v<X> && !std::is_union_v<X>, int>;
template <class T>
using IfClass = std::enable_if_t<std::is_class_v<std::remove_reference_t<T>> ||
                                     std::is_union_v<std::remove_reference_t<T>>,
                                 int>;

/// (int)(CastTo<int>)x is (int)x as a kernel computes it, whatever x is and where it ends.
template <class T>
class CastTo {
 public:
  template <class X, IfNoClass<X> = 0>
  constexpr CastTo(X x) : value_(of(x)) {}
  template <class X, IfClass<X> = 0>
  constexpr CastTo(X&& x) : value_((T) static_cast<X&&>(x)) {}
  constexpr operator T() const { return value_; }

 private:
  template <class X>
  static constexpr T of(X x) {
    if constexpr (std::is_floating_point_v<X>)
      return converted<T>(x);
    else
      return (T)x;
  }

  T value_;
};
/// The same for a type of which only the name is known. Types other than whole numbers stay.
template <class T>
using CastThrough =
    std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, CastTo<T>, T>;

/// int i = Initial<int>{} = x; is int i = x; as a kernel computes it.
template <class T>
struct Initial {
  template <class X, IfNoClass<X> = 0>
  [[nodiscard]] constexpr auto operator=(X x) const {
    if constexpr (std::is_floating_point_v<X>)
      return converted<T>(x);
    else
      return x;
  }
  template <class X, IfClass<X> = 0>
  [[nodiscard]] constexpr X&& operator=(X&& x) const {
    return static_cast<X&&>(x);
  }
};

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
  if (by < kWidth) return static_cast<T>(static_cast<Bits>(value) << by);
  return is_of_device() ? T{0} : static_cast<T>(static_cast<Bits>(value) << by % kWidth);
}
template <class T, class Count>
[[nodiscard]] constexpr T shift_right(T value, Count count) {
  constexpr unsigned kWidth = 8 * sizeof(T);
  const auto by = static_cast<unsigned>(count);
  if (by < kWidth) return static_cast<T>(value >> by);
  if (!is_of_device()) return static_cast<T>(value >> by % kWidth);
  return value < T{0} ? static_cast<T>(-1) : T{0};
}

/// Numbers, also of an enum, as C++ promotes them.
template <class T>
using Promoted = decltype(+std::declval<T>());
template <class T>
using IfNumber = std::enable_if_t<std::is_integral_v<Promoted<T>>, int>;

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
