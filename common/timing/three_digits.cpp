#include "common/timing/three_digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace convlab {

namespace {

constexpr int kMostDecimals = 6;  // of a millisecond: a nanosecond

// Of a number rounded to so many digits; rounding may carry, as from 9.999 to 10.0.
int decimals_of(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return 0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*e", digits - 1, value);
  const int exponent = std::atoi(std::ranges::find(text, 'e') + 1);
  return std::clamp(digits - 1 - exponent, 0, kMostDecimals);
}

std::string fixed(double value, int decimals) {
  const int length = std::snprintf(nullptr, 0, "%.*f", decimals, value);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  text.pop_back();
  return text;
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
