#pragma once

// uint3, dim3, float4 and their relatives, laid out and aligned as nvcc does; threadIdx and the
// other built-in variables.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

#define CONVLAB_VECTOR_TYPES(base, name, align2, align4)                    \
  struct name##1 {                                                          \
    base x;                                                                 \
  };                                                                        \
  struct alignas(align2) name##2 {                                          \
    base x, y;                                                              \
  };                                                                        \
  struct name##3 {                                                          \
    base x, y, z;                                                           \
  };                                                                        \
  struct alignas(align4) name##4 {                                          \
    base x, y, z, w;                                                        \
  };                                                                        \
  inline constexpr name##1 make_##name##1(base x) {                         \
    return {x};                                                             \
  }                                                                         \
  inline constexpr name##2 make_##name##2(base x, base y) {                 \
    return {x, y};                                                          \
  }                                                                         \
  inline constexpr name##3 make_##name##3(base x, base y, base z) {         \
    return {x, y, z};                                                       \
  }                                                                         \
  inline constexpr name##4 make_##name##4(base x, base y, base z, base w) { \
    return {x, y, z, w};                                                    \
  }

CONVLAB_VECTOR_TYPES(signed char, char, 2, 4)
CONVLAB_VECTOR_TYPES(unsigned char, uchar, 2, 4)
CONVLAB_VECTOR_TYPES(short, short, 4, 8)
CONVLAB_VECTOR_TYPES(unsigned short, ushort, 4, 8)
CONVLAB_VECTOR_TYPES(int, int, 8, 16)
CONVLAB_VECTOR_TYPES(unsigned int, uint, 8, 16)
CONVLAB_VECTOR_TYPES(long, long, 16, 16)
CONVLAB_VECTOR_TYPES(unsigned long, ulong, 16, 16)
CONVLAB_VECTOR_TYPES(long long, longlong, 16, 16)
CONVLAB_VECTOR_TYPES(unsigned long long, ulonglong, 16, 16)
CONVLAB_VECTOR_TYPES(float, float, 8, 16)
CONVLAB_VECTOR_TYPES(double, double, 16, 16)

#undef CONVLAB_VECTOR_TYPES

// CUDA 13: four 64-bit numbers with the alignment in the name, to replace those above.
#define CONVLAB_ALIGNED(base, name, bytes)                                                        \
  struct alignas(bytes) name##4_##bytes##a {                                                      \
    base x, y, z, w;                                                                              \
  };                                                                                              \
  inline constexpr name##4_##bytes##a make_##name##4_##bytes##a(base x, base y, base z, base w) { \
    return {x, y, z, w};                                                                          \
  }
#define CONVLAB_ALIGNED_BOTH(base, name) \
  CONVLAB_ALIGNED(base, name, 16)        \
  CONVLAB_ALIGNED(base, name, 32)
CONVLAB_ALIGNED_BOTH(long, long)
CONVLAB_ALIGNED_BOTH(unsigned long, ulong)
CONVLAB_ALIGNED_BOTH(long long, longlong)
CONVLAB_ALIGNED_BOTH(unsigned long long, ulonglong)
CONVLAB_ALIGNED_BOTH(double, double)
#undef CONVLAB_ALIGNED_BOTH
#undef CONVLAB_ALIGNED

/// Sizes of a grid or a block; missing ones are 1.
struct dim3 {
  unsigned int x = 1, y = 1, z = 1;

  constexpr dim3(unsigned int size_x = 1, unsigned int size_y = 1, unsigned int size_z = 1)
      : x(size_x), y(size_y), z(size_z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

// Plain thread-local variables of the worker that runs the block. The scheduler sets threadIdx
// whenever it changes the thread, and a block never moves to another worker. `constinit` spares the
// initialisation check at every use.
CONVLAB_CONSTINIT extern thread_local uint3 threadIdx;
CONVLAB_CONSTINIT extern thread_local uint3 blockIdx;
CONVLAB_CONSTINIT extern thread_local dim3 blockDim;
CONVLAB_CONSTINIT extern thread_local dim3 gridDim;

inline constexpr int warpSize = 32;

// NOLINTEND(readability-identifier-naming)
