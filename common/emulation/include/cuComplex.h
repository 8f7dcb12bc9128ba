#pragma once

// Complex numbers of CUDA: float2 and double2 with functions, in single precision named with an f.

#include <cuda_runtime.h>

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

// Quotient and absolute value scale their operands, so that no square overflows.
#define CONVLAB_COMPLEX(Complex, Real, f)                                                       \
  CONVLAB_FUNCTION(Real, cuCreal##f, (Complex z), z.x)                                          \
  CONVLAB_FUNCTION(Real, cuCimag##f, (Complex z), z.y)                                          \
  CONVLAB_FUNCTION(Complex, make_##Complex, (Real x, Real y), (Complex{x, y}))                  \
  CONVLAB_FUNCTION(Complex, cuConj##f, (Complex z), (Complex{z.x, -z.y}))                       \
  CONVLAB_FUNCTION(Complex, cuCadd##f, (Complex a, Complex b), (Complex{a.x + b.x, a.y + b.y})) \
  CONVLAB_FUNCTION(Complex, cuCsub##f, (Complex a, Complex b), (Complex{a.x - b.x, a.y - b.y})) \
  CONVLAB_FUNCTION(Complex, cuCmul##f, (Complex a, Complex b),                                  \
                   (Complex{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}))                     \
  CONVLAB_FUNCTION(Complex, cuCfma##f, (Complex a, Complex b, Complex c),                       \
                   (Complex{a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x}))         \
  inline Complex cuCdiv##f(Complex a, Complex b) {                                              \
    const Real scale = Real{1} / (fabs##f(b.x) + fabs##f(b.y));                                 \
    const Complex p{a.x * scale, a.y * scale};                                                  \
    const Complex q{b.x * scale, b.y * scale};                                                  \
    const Real inverse = Real{1} / (q.x * q.x + q.y * q.y);                                     \
    return {(p.x * q.x + p.y * q.y) * inverse, (p.y * q.x - p.x * q.y) * inverse};              \
  }                                                                                             \
  inline Real cuCabs##f(Complex z) {                                                            \
    const Real most = fmax##f(fabs##f(z.x), fabs##f(z.y));                                      \
    const Real least = fmin##f(fabs##f(z.x), fabs##f(z.y));                                     \
    if (most == 0 || isinf(most)) return most + least;                                          \
    const Real ratio = least / most;                                                            \
    return most * sqrt##f(1 + ratio * ratio);                                                   \
  }
CONVLAB_COMPLEX(cuFloatComplex, float, f)
CONVLAB_COMPLEX(cuDoubleComplex, double, )
#undef CONVLAB_COMPLEX

CONVLAB_FUNCTION(cuComplex, make_cuComplex, (float x, float y), (cuComplex{x, y}))
CONVLAB_FUNCTION(cuDoubleComplex, cuComplexFloatToDouble, (cuFloatComplex z),
                 (cuDoubleComplex{z.x, z.y}))
CONVLAB_FUNCTION(cuFloatComplex, cuComplexDoubleToFloat, (cuDoubleComplex z),
                 (cuFloatComplex{static_cast<float>(z.x), static_cast<float>(z.y)}))

// NOLINTEND(readability-identifier-naming)
