#include "common/timing/three_digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace convlab {

namespace {

// As many decimals as the number needs for so many digits; a nanosecond of a millisecond is the
// last. Rounding may carry, as from 9.999 to 10.0.
int decimals_of(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return 0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*e", digits - 1, value);
  const int exponent = std::atoi(std::ranges::find(text, 'e') + 1);
  return std::clamp(digits - 1 - exponent, 0, 6);
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};  // the largest double has 309 digits
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace

std::string three_digits(double value) {
  return fixed(value, decimals_of(value, 3));
}

std::string spread_digits(double value, double spread) {
  if (spread == 0.0) return "0";
  return fixed(spread, std::max(decimals_of(value, 3), decimals_of(spread, 1)));
}

}  // namespace convlab
