#pragma once

#include <cmath>
#include <cstdint>

#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {

/// Numbers whose sums of products show how they were added.
enum class Numbers {
  kUniform,    ///< from -1 to 1, with all bits of a float
  kWide,       ///< exponents from -8 to 8
  kSubnormal,  ///< factors beside the least normal number of halves or floats, and small sums
  kCancelling  ///< few different ones of both signs, also ties
};

/// Number i of matrix 1 (A), 2 (B) or 3 (C). The bits are the same everywhere.
/// @param of_halves  whether the exponents must fit halves
inline float telling_number(std::size_t i, unsigned matrix, Numbers kind, bool of_halves) {
  const std::uint32_t random = mix(static_cast<std::uint32_t>(i) + (matrix << 20U));
  const std::uint32_t other = mix(random + 1);
  const float sign = (other >> 31U) != 0 ? -1.0F : 1.0F;
  const float fraction = static_cast<float>(random >> 8U) * 0x1p-24F;
  const int exponent = static_cast<int>(other % 17U) - 8;
  switch (kind) {
    case Numbers::kUniform:
      return sign * fraction;
    case Numbers::kWide:
      return sign * std::ldexp(1.0F + fraction, exponent);
    case Numbers::kSubnormal:
      if (matrix == 2) return sign * std::ldexp(1.0F + fraction, exponent / 2);
      return sign * std::ldexp(fraction, (of_halves ? -14 : -126) + (matrix == 3 ? exponent : 0));
    case Numbers::kCancelling:
      break;
  }
  return sign * static_cast<float>(1U + random % 3U) *
         (1.0F + static_cast<float>(other % 4U) * 0x1p-9F);
}

}  // namespace convlab::features
