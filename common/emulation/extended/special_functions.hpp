#pragma once

// Device mathematics that no host library has: inverse error functions, Bessel functions, norms of
// any length. Computed in double, so that the float forms are correctly rounded nearly always; a
// GPU's last bits differ.
// Source: CUDA Math API; Press et al., Numerical Recipes, 3rd edition, 6.2.2 (inverse of erfc).

#include <cmath>
#include <limits>

namespace convlab::emulation {

constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
constexpr double kSqrtTwo = 1.41421356237309504880;

/// Inverse of erfc for 0 < x <= 1, roughly: right to two or three digits.
inline double guess_erfcinv(double x) {
  const double t = std::sqrt(-2.0 * std::log(x / 2.0));
  return -0.70711 * ((2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)) - t);
}

/// I_order(x) for order 0 or 1 by its power series, whose terms all have one sign.
inline double bessel_i(int order, double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return order == 0 ? std::fabs(x) : x;
  const double quarter = x * x / 4.0;
  double term = order == 0 ? 1.0 : x / 2.0;
  double sum = term;
  for (int k = 1; std::fabs(term) > std::fabs(sum) * 1e-18 && std::isfinite(sum); ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's

inline double erfcinv(double x) {
  if (!(x >= 0.0 && x <= 2.0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return std::numeric_limits<double>::infinity();
  if (x > 1.0) return -erfcinv(2.0 - x);
  double z = convlab::emulation::guess_erfcinv(x);
  for (int step = 0; step < 4; ++step) {
    const double error = std::erfc(z) - x;
    z += error / (convlab::emulation::kTwoOverSqrtPi * std::exp(-z * z) - z * error);
  }
  return z;
}
inline double erfinv(double y) {
  const double size = std::fabs(y);
  // Near 1 the distance to 1 is what counts; it is exact.
  if (!(size < 0.5)) return std::copysign(erfcinv(1.0 - size), y);
  if (size < 1e-9) return y / convlab::emulation::kTwoOverSqrtPi;
  double z = y / convlab::emulation::kTwoOverSqrtPi;
  for (int step = 0; step < 4; ++step) {
    const double error = std::erf(z) - y;
    z -= error / (convlab::emulation::kTwoOverSqrtPi * std::exp(-z * z) + z * error);
  }
  return z;
}
inline double normcdfinv(double x) {
  return -convlab::emulation::kSqrtTwo * erfcinv(2.0 * x);
}
/// exp(x²) erfc(x)
inline double erfcx(double x) {
  if (x < 3.0) return std::exp(x * x) * std::erfc(x);
  double fraction = x;  // a continued fraction, from its end
  for (int k = 60; k > 0; --k) fraction = x + 0.5 * k / fraction;
  return convlab::emulation::kTwoOverSqrtPi / 2.0 / fraction;
}
inline double cyl_bessel_i0(double x) {
  return convlab::emulation::bessel_i(0, x);
}
inline double cyl_bessel_i1(double x) {
  return convlab::emulation::bessel_i(1, x);
}

#define CONVLAB_FLOAT_FORM(name, of)                       \
  inline float name(float x) {                             \
    return static_cast<float>(of(static_cast<double>(x))); \
  }
CONVLAB_FLOAT_FORM(erfcinvf, erfcinv)
CONVLAB_FLOAT_FORM(erfinvf, erfinv)
CONVLAB_FLOAT_FORM(normcdfinvf, normcdfinv)
CONVLAB_FLOAT_FORM(erfcxf, erfcx)
CONVLAB_FLOAT_FORM(cyl_bessel_i0f, cyl_bessel_i0)
CONVLAB_FLOAT_FORM(cyl_bessel_i1f, cyl_bessel_i1)
#undef CONVLAB_FLOAT_FORM

/// Length of a vector of `count` numbers.
inline double norm(int count, const double* values) {
  double length = 0.0;
  for (int i = 0; i < count; ++i) length = std::hypot(length, values[i]);
  return length;
}
inline float normf(int count, const float* values) {
  double length = 0.0;
  for (int i = 0; i < count; ++i) length = std::hypot(length, static_cast<double>(values[i]));
  return static_cast<float>(length);
}
inline double rnorm(int count, const double* values) {
  return 1.0 / norm(count, values);
}
inline float rnormf(int count, const float* values) {
  double length = 0.0;
  for (int i = 0; i < count; ++i) length = std::hypot(length, static_cast<double>(values[i]));
  return static_cast<float>(1.0 / length);
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
