#pragma once

// Complex numbers as pairs. The operations are those of CUDA's header, in its order, so that
// results agree bit for bit where a GPU does not contract multiply and add. Source: CUDA Toolkit,
// cuComplex.h.

#include <cuda_runtime.h>

#include <cmath>

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

// Every function of cuFloatComplex ends in f, those of cuDoubleComplex have no suffix.
#define CONVLAB_COMPLEX(T, Complex, make, f, largest)                                      \
  inline constexpr Complex make(T real, T imaginary) {                                     \
    return {real, imaginary};                                                              \
  }                                                                                        \
  inline constexpr T cuCreal##f(Complex z) {                                               \
    return z.x;                                                                            \
  }                                                                                        \
  inline constexpr T cuCimag##f(Complex z) {                                               \
    return z.y;                                                                            \
  }                                                                                        \
  inline constexpr Complex cuConj##f(Complex z) {                                          \
    return {z.x, -z.y};                                                                    \
  }                                                                                        \
  inline constexpr Complex cuCadd##f(Complex a, Complex b) {                               \
    return {a.x + b.x, a.y + b.y};                                                         \
  }                                                                                        \
  inline constexpr Complex cuCsub##f(Complex a, Complex b) {                               \
    return {a.x - b.x, a.y - b.y};                                                         \
  }                                                                                        \
  inline constexpr Complex cuCmul##f(Complex a, Complex b) {                               \
    return {(a.x * b.x) - (a.y * b.y), (a.x * b.y) + (a.y * b.x)};                         \
  }                                                                                        \
  /* Scaled, so that no square overflows. */                                               \
  inline Complex cuCdiv##f(Complex a, Complex b) {                                         \
    const T scale = T{1} / (std::fabs(b.x) + std::fabs(b.y));                              \
    const Complex n = {a.x * scale, a.y * scale};                                          \
    const Complex d = {b.x * scale, b.y * scale};                                          \
    const T inverse = T{1} / ((d.x * d.x) + (d.y * d.y));                                  \
    return {((n.x * d.x) + (n.y * d.y)) * inverse, ((n.y * d.x) - (n.x * d.y)) * inverse}; \
  }                                                                                        \
  inline T cuCabs##f(Complex z) {                                                          \
    const T x = std::fabs(z.x);                                                            \
    const T y = std::fabs(z.y);                                                            \
    const T larger = x > y ? x : y; /* a NaN stays one */                                  \
    const T smaller = x > y ? y : x;                                                       \
    if (larger == 0 || larger > (largest) || smaller > (largest)) return larger + smaller; \
    const T ratio = smaller / larger;                                                      \
    return larger * std::sqrt(T{1} + ratio * ratio);                                       \
  }                                                                                        \
  inline constexpr Complex cuCfma##f(Complex a, Complex b, Complex c) {                    \
    const T real = (a.x * b.x) + c.x;                                                      \
    const T imaginary = (a.x * b.y) + c.y;                                                 \
    return {real - (a.y * b.y), (a.y * b.x) + imaginary};                                  \
  }
CONVLAB_COMPLEX(float, cuFloatComplex, make_cuFloatComplex, f, 3.402823466e38F)
CONVLAB_COMPLEX(double, cuDoubleComplex, make_cuDoubleComplex, , 1.79769313486231570e308)
#undef CONVLAB_COMPLEX

inline constexpr cuComplex make_cuComplex(float real, float imaginary) {
  return {real, imaginary};
}
inline constexpr cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
  return {z.x, z.y};
}
inline constexpr cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return {static_cast<float>(z.x), static_cast<float>(z.y)};
}

// NOLINTEND(readability-identifier-naming)
