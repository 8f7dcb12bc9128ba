#include "grader/report/numbers.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace convlab::grader {

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), "\u00a0");  // no line ends there
  }
  return text;
}

std::string short_number(double number) {
  constexpr double kTen = 10.0;
  const double rounded = std::round(number * kTen) / kTen;
  if (rounded == std::floor(rounded)) return grouped(static_cast<std::int64_t>(rounded));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", rounded);
  return text.data();
}

}  // namespace convlab::grader
