#pragma once

// What these headers use of C++20, for files that are compiled as C++17, nvcc's default: the few
// names of <bit> and <type_traits>, and constinit. The runtime itself is C++20.

#include <cstdint>
#include <type_traits>

/// A thread-local variable without a check of its initialisation at every use. It stands first in
/// the declaration.
#if __cplusplus > 201703L
#define CONVLAB_CONSTINIT constinit
#elif defined(__clang__)
#define CONVLAB_CONSTINIT [[clang::require_constant_initialization]]
#else
#define CONVLAB_CONSTINIT __constinit
#endif

/// A function of the device that is one expression. CUDA has some hundred of these.
#define CONVLAB_FUNCTION(Result, name, parameters, expression) \
  inline Result name parameters {                              \
    return static_cast<Result>(expression);                    \
  }

/// Before what nvcc 13 refuses and emulation runs: a warning where a program uses it.
#ifdef CONVLAB_TELLS_OF_NVCC
#define CONVLAB_REFUSED_BY_NVCC(why) [[deprecated("nvcc 13 refuses this: " why)]]
#else
#define CONVLAB_REFUSED_BY_NVCC(why)
#endif

namespace convlab::emulation {

// NOLINTBEGIN(modernize-use-using): for __extension__
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;
// NOLINTEND(modernize-use-using)

// What inline functions of these headers call returns auto: GCC then instantiates it where the
// header is precompiled, and not in each program that has the header.

template <typename To, typename From>
[[nodiscard]] constexpr auto bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

/// Of unsigned types of 32 and 64 bits; all bits of a zero are leading and trailing ones.
template <typename T>
[[nodiscard]] constexpr auto popcount(T x) noexcept {
  return __builtin_popcountll(x);
}
template <typename T>
[[nodiscard]] constexpr auto countl_zero(T x) noexcept {
  constexpr int kUnused = 64 - 8 * static_cast<int>(sizeof(T));
  return x == 0 ? 64 - kUnused : __builtin_clzll(x) - kUnused;
}
template <typename T>
[[nodiscard]] constexpr auto countr_zero(T x) noexcept {
  return x == 0 ? 8 * static_cast<int>(sizeof(T)) : __builtin_ctzll(x);
}

/// A parameter of this type takes no part in the deduction of T.
template <typename T>
struct TypeIdentity {
  using type = T;
};
template <typename T>
using AsIs = typename TypeIdentity<T>::type;

template <typename T>
using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

template <typename T, typename... Types>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Types> || ...);

}  // namespace convlab::emulation
