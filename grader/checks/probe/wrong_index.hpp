#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "grader/checks/probe/explanation.hpp"
#include "grader/checks/probe/size_expression.hpp"
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

/// The variables of an index, b, m, c, h, p, w and q.
std::vector<std::int64_t> variables_of(const Label& at);

/// An index as an expression of the sizes.
struct NamedIndex {
  std::vector<std::optional<SizeExpression>> factors{};  ///< by variable; none: unknown
  SizeExpression constant = number_expression(0);
  /// Variables of an output with one value alone, which is not the last one, that of the sum that
  /// stays: so the others may lie outside.
  std::set<std::size_t> alone{};

  /// "b·C·H·W + h·W + 3", without factors of 0.
  [[nodiscard]] std::string text() const;
};

/// The right index of an array.
struct IndexForm {
  enum class Array { kInput, kWeights, kOutput };
  Array array;
  std::vector<SizeExpression> right;  ///< factors by variable

  [[nodiscard]] const char* name() const;
};
const IndexForm& form_of(IndexForm::Array array);

/// The index through all of these points, by shape; nothing if it is no simple expression.
std::optional<NamedIndex> named_index(const IndexForm& form, const std::vector<ConvShape>& shapes,
                                      const std::vector<std::vector<Point>>& points);

/// A measured index that is wrong.
struct WrongIndex {
  const IndexForm* form;
  NamedIndex index;
  std::vector<LabelledTerms> terms;
};

/// What this index is, what it should be, and how they differ.
/// @param rival  an index of the other array that gives the same products
Explanation index_fact(const IndexForm& form, const NamedIndex& index,
                       const std::vector<ConvShape>& shapes, const WrongIndex* rival = nullptr);

/// Of products with a wrong pixel (or weight): the formula of its index, if there is one.
std::optional<WrongIndex> wrong_index(std::vector<LabelledTerms> all, bool by_weight);

/// The simpler of two formulas is the likelier one.
std::size_t complexity(const WrongIndex& wrong);

/// Whether loops with this index give the numbers of another run.
bool predicts(const IndexForm& form, const NamedIndex& index, const DenseRun& run);

Explanation fact_of(const WrongIndex& wrong, const WrongIndex* rival);

}  // namespace convlab::grader::probe
