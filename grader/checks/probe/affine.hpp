#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab::grader::probe {

/// One measured index, and the values of the variables that it may depend on.
struct Point {
  std::vector<std::int64_t> variables{};
  std::int64_t value = 0;
};

/// constant + Σ factor · variable, exact at all points.
struct Affine {
  std::int64_t constant = 0;
  /// By variable; none where the points cannot tell, as for an image that is the only one.
  std::vector<std::optional<std::int64_t>> factors{};

  [[nodiscard]] std::int64_t at(const std::vector<std::int64_t>& variables) const;
};

/// The affine function through all points; nothing if there is none with whole factors.
std::optional<Affine> fit(const std::vector<Point>& points);

/// A name for numbers that were measured at these shapes, such as "C·H·W" or "2·K"; at one shape
/// only small numbers have one. Empty if no simple expression gives all of them.
/// @param right  the expression that is expected, preferred if it fits
std::string name_of(const std::vector<std::int64_t>& values, const std::vector<ConvShape>& shapes,
                    const std::string& right);

/// The value of a name at another shape; nothing for other text.
std::optional<std::int64_t> value_of(const std::string& name, const ConvShape& shape);

/// "b·C·H·W + h·W + 3": a sum of products of names of factors and variables. A factor "0" is left
/// out.
std::string sum_text(const std::vector<std::string>& factors,
                     const std::vector<std::string>& variables, const std::string& constant);

}  // namespace convlab::grader::probe
