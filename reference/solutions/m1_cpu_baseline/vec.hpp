#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

/// Unrolls a loop over lanes or registers: its array stays in registers only if every index is
/// known at compile time.
#define CONVLAB_UNROLL _Pragma("GCC unroll 32")

namespace convlab {

// The widest vector of floats that the target has, and how many of them it can hold at once.
#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
inline constexpr int kRegisters = 32;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
inline constexpr int kRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kLanes = 4;
inline constexpr int kRegisters = 32;
#else
inline constexpr int kLanes = 4;
inline constexpr int kRegisters = 14;  // of 16: without fused multiply-add products need some, too
#endif

/// kLanes floats in one register. GCC and clang compile +, - and * on it to one instruction, on
/// every architecture.
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

/// The same, without alignment.
typedef float UnalignedVec
    __attribute__((vector_size(kLanes * sizeof(float)), may_alias, aligned(sizeof(float))));

inline Vec load(const float* from) {
  return *reinterpret_cast<const UnalignedVec*>(from);
}

inline void store(float* to, const Vec& vec) {
  *reinterpret_cast<UnalignedVec*>(to) = vec;
}

/// `value` in every lane. Subtracting zero changes no float, so the compiler removes it. Adding
/// zero would turn -0 into +0, so the compiler could not remove it.
inline Vec broadcast(float value) {
  return value - Vec{};
}

/// Makes the compiler keep `vec` in a register. Otherwise GCC reads a value that four multiply-adds
/// use four times from memory, as an operand of each. If the address is not a multiple of the
/// vector's size, each of these reads takes two cache lines.
inline void keep_in_register([[maybe_unused]] Vec& vec) {
#if defined(__x86_64__)
  asm("" : "+v"(vec));
#elif defined(__aarch64__)
  asm("" : "+w"(vec));
#endif
}

/// Copies a row of floats; the last vector overlaps the one before it.
inline void copy_row(const float* from, float* to, int count) {
  if (count < kLanes) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (int i = 0; i + kLanes < count; i += kLanes) store(to + i, load(from + i));
  store(to + count - kLanes, load(from + count - kLanes));
}

/// The sums of a register tile: kScalars rows × kVecs vectors.
template <int kScalars, int kVecs>
struct SumTile {
  Vec sum[kScalars][kVecs] = {};

  /// Adds the product of every scalar with every vector.
  void add(const float* scalars, const float* vectors) {
    Vec vec[kVecs];
    CONVLAB_UNROLL
    for (std::ptrdiff_t v = 0; v < kVecs; ++v) {
      vec[v] = load(vectors + v * kLanes);
      keep_in_register(vec[v]);
    }
    CONVLAB_UNROLL
    for (std::ptrdiff_t i = 0; i < kScalars; ++i) {
      const Vec scalar = broadcast(scalars[i]);
      CONVLAB_UNROLL
      for (std::ptrdiff_t v = 0; v < kVecs; ++v) sum[i][v] += scalar * vec[v];
    }
  }

  /// @param to  kScalars rows, `pitch` floats apart
  void store_to(float* to, std::ptrdiff_t pitch) const {
    CONVLAB_UNROLL
    for (std::ptrdiff_t i = 0; i < kScalars; ++i) {
      CONVLAB_UNROLL
      for (std::ptrdiff_t v = 0; v < kVecs; ++v) store(to + i * pitch + v * kLanes, sum[i][v]);
    }
  }
};

/// {function_of(1), …, function_of(kCount)}, with the numbers as constants: one function for each
/// size of a tile.
template <int kCount, class FunctionOf>
constexpr auto table_of_sizes(FunctionOf function_of) {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{function_of(std::integral_constant<int, static_cast<int>(kIndex) + 1>{})...};
  }
  (std::make_index_sequence<kCount>());
}

}  // namespace convlab
