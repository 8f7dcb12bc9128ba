#pragma once

// Half and bfloat16 as a table of values and midpoints: an independent, slow and plainly correct
// way to round, against which the headers' bit tricks are tested.

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace convlab::emulation::testing {

/// The finite magnitudes of a format in order. A pattern is its own index.
class NarrowTable {
 public:
  NarrowTable(int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int fractions = 1 << fraction_bits;
    for (int exponent = 0; exponent < (1 << exponent_bits); ++exponent) {
      for (int fraction = 0; fraction < fractions; ++fraction) {
        const int significand = exponent == 0 ? fraction : fraction + fractions;
        const int scale = (exponent == 0 ? 1 : exponent) - bias - fraction_bits;
        values_.push_back(std::ldexp(static_cast<double>(significand), scale));
        if (static_cast<int>(values_.size()) == infinity_index(exponent_bits, fraction_bits) + 1) {
          return;  // the last entry is what would follow the largest finite value
        }
      }
    }
  }

  [[nodiscard]] std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(values_.size() - 1);
  }
  [[nodiscard]] std::uint16_t largest() const { return static_cast<std::uint16_t>(infinity() - 1); }
  [[nodiscard]] bool is_nan(std::uint16_t bits) const { return (bits & 0x7fff) > infinity(); }

  /// Value of a pattern; a NaN for any NaN.
  [[nodiscard]] double value(std::uint16_t bits) const {
    const std::uint16_t magnitude = bits & 0x7fff;
    double value = magnitude < infinity()    ? values_[magnitude]
                   : magnitude == infinity() ? std::numeric_limits<double>::infinity()
                                             : std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000) != 0 ? -value : value;
  }

  /// Halfway between pattern `index` and the next: exact in double.
  [[nodiscard]] double midpoint(std::uint16_t index) const {
    return (values_[index] + values_[index + 1]) / 2;
  }

  /// Nearest pattern, ties to even, to a magnitude that only `compare` knows.
  /// @param compare  compare(m) < 0, == 0 or > 0: the magnitude is below, at or above m
  template <class Compare>
  [[nodiscard]] std::uint16_t nearest(Compare compare) const {
    std::uint16_t low = 0;  // the smallest index whose upper midpoint is not below the magnitude
    std::uint16_t high = infinity();
    while (low < high) {
      const auto middle = static_cast<std::uint16_t>((low + high) / 2);
      if (compare(midpoint(middle)) > 0) {
        low = static_cast<std::uint16_t>(middle + 1);
      } else {
        high = middle;
      }
    }
    if (low == infinity()) return low;
    const bool tie = compare(midpoint(low)) == 0;
    return static_cast<std::uint16_t>(tie && low % 2 == 1 ? low + 1 : low);
  }

  /// Nearest pattern to a double.
  [[nodiscard]] std::uint16_t nearest_to(double value) const {
    const double magnitude = std::fabs(value);
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    return static_cast<std::uint16_t>(
        sign | nearest([&](double m) { return magnitude < m ? -1 : (magnitude > m ? 1 : 0); }));
  }

  /// Nearest pattern to sum + rest, where |rest| is less than sum's last place.
  [[nodiscard]] std::uint16_t nearest_to_sum(double sum, double rest) const {
    const std::uint16_t sign = std::signbit(sum) ? 0x8000 : 0;
    const double magnitude = std::fabs(sum);
    const double extra = std::signbit(sum) ? -rest : rest;
    return static_cast<std::uint16_t>(sign | nearest([&](double m) {
                                        if (magnitude != m) return magnitude < m ? -1 : 1;
                                        return extra < 0 ? -1 : (extra > 0 ? 1 : 0);
                                      }));
  }

  /// Largest finite index whose value is not above the magnitude.
  [[nodiscard]] std::uint16_t floor_index(double magnitude) const {
    std::uint16_t low = 0;
    std::uint16_t high = largest();
    while (low < high) {
      const auto middle = static_cast<std::uint16_t>((low + high + 1) / 2);
      if (values_[middle] <= magnitude) {
        low = middle;
      } else {
        high = static_cast<std::uint16_t>(middle - 1);
      }
    }
    return low;
  }

 private:
  static int infinity_index(int exponent_bits, int fraction_bits) {
    return ((1 << exponent_bits) - 1) << fraction_bits;
  }

  std::vector<double> values_;
};

/// Patterns that meet every special case, and random ones: the second operand of a sweep.
inline std::vector<std::uint16_t> telling_patterns(const NarrowTable& table, int random_count) {
  const int one = static_cast<int>(table.nearest_to(1.0));
  std::vector<std::uint16_t> patterns;
  const auto add = [&](int bits) {
    patterns.push_back(static_cast<std::uint16_t>(bits & 0x7fff));
    patterns.push_back(static_cast<std::uint16_t>((bits & 0x7fff) | 0x8000));
  };
  const int smallest_normal = static_cast<int>(table.infinity() > 0x7c00 ? 0x0080 : 0x0400);
  for (const int bits :
       {0, 1, 2, 3, smallest_normal - 1, smallest_normal, smallest_normal + 1, one - 1, one,
        one + 1, table.largest() - 1, static_cast<int>(table.largest()),
        static_cast<int>(table.infinity()), table.infinity() + 1, 0x7fff}) {
    add(bits);
  }
  std::mt19937 random(20210);
  for (int i = 0; i < random_count; ++i) {
    patterns.push_back(static_cast<std::uint16_t>(random() & 0xffff));
  }
  return patterns;
}

}  // namespace convlab::emulation::testing
