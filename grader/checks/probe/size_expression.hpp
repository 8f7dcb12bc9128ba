#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab::grader::probe {

/// What students make of the sizes of a shape: a number, "3", a product of up to four sizes,
/// "C·H·W", a multiple of one, "-2·K", or one more or less than one, "(C·K - 1)".
struct SizeExpression {
  std::vector<std::size_t> sizes{};  ///< rows of a table, ascending; none: `times` is the number
  std::int64_t times = 1;
  std::int64_t more = 0;

  [[nodiscard]] bool is_number() const { return sizes.empty(); }
  [[nodiscard]] std::int64_t at(const ConvShape& shape) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] SizeExpression times_of(std::int64_t factor) const {
    return {sizes, times * factor, more * factor};
  }

  friend bool operator==(const SizeExpression&, const SizeExpression&) = default;
};

inline SizeExpression number_expression(std::int64_t value) {
  return {.times = value};
}

/// A number or a product as the code writes it. @throws std::out_of_range if it is neither
SizeExpression size_expression(const std::string& text);

/// An expression for numbers that were measured at these shapes, such as C·H·W or 2·K; at one shape
/// only for small numbers. Nothing if no simple one gives all of them.
/// @param right  the one that is expected, preferred if it fits
std::optional<SizeExpression> expression_of(const std::vector<std::int64_t>& values,
                                            const std::vector<ConvShape>& shapes,
                                            const std::optional<SizeExpression>& right = {});

}  // namespace convlab::grader::probe
