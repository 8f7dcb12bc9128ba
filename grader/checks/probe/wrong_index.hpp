#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "grader/checks/probe/explanation.hpp"
#include "grader/checks/probe/terms.hpp"

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

/// "b·C·H·W + h·W + 3": variables times names of factors, but for "0".
std::string sum_text(const std::vector<std::string>& factors, const std::string& constant);

/// The variables of an index, b, m, c, h, p, w and q.
std::vector<std::int64_t> variables_of(const Label& at);

/// The right factor of each variable in the index of an array, as a name.
struct IndexForm {
  std::string array;
  std::vector<std::string> right;
};
inline const IndexForm kInputForm{"input", {"C·H·W", "0", "H·W", "S·W", "W", "S", "1"}};
inline const IndexForm kWeightsForm{"weights", {"0", "C·K·K", "K·K", "0", "K", "0", "1"}};
inline const IndexForm kOutputForm{"output",
                                   {"M·H_out·W_out", "H_out·W_out", "0", "W_out", "0", "1", "0"}};

/// An index in names.
struct NamedIndex {
  std::vector<std::string> factors{};  ///< by variable; empty: unknown
  std::string constant{};
};

/// The index through all of these points, by shape; nothing if none has a name.
std::optional<NamedIndex> named_index(const IndexForm& form, const std::vector<ConvShape>& shapes,
                                      const std::vector<std::vector<Point>>& points);

/// What this index is, what it should be, and how they differ.
Explanation index_fact(const IndexForm& form, const NamedIndex& index,
                       const std::vector<ConvShape>& shapes);

/// A measured index that is wrong.
struct WrongIndex {
  const IndexForm* form;
  NamedIndex index;
  std::vector<LabelledTerms> terms;
};

/// Of products with a wrong pixel (or weight): the formula of its index, if there is one.
std::optional<WrongIndex> wrong_index(std::vector<LabelledTerms> all, bool by_weight);

/// The simpler of two formulas is the likelier one.
std::size_t complexity(const WrongIndex& wrong);

/// Whether loops with this index give the numbers of another run.
bool predicts(const IndexForm& form, const NamedIndex& index, const DenseRun& run);

Explanation fact_of(const WrongIndex& wrong);

}  // namespace convlab::grader::probe
