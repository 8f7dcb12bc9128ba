#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/probe/affine.hpp"
#include "grader/checks/probe/fact.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

/// The variables of an index, and the right factor of each as a name.
struct IndexForm {
  const char* array;
  std::vector<std::string> variables;
  std::vector<std::string> right;
};

/// The values of these variables.
std::vector<std::int64_t> variables_of(const Label& at);

// The right indices of the three arrays.
const IndexForm& input_form();
const IndexForm& weights_form();
const IndexForm& output_form();

/// An index in names.
struct NamedIndex {
  std::vector<std::string> factors{};  ///< by variable; empty: unknown
  std::string constant{};
};

/// The index through these points, by shape; nothing if none that has a name goes through all of
/// them.
std::optional<NamedIndex> named_index(const IndexForm& form, const std::vector<ConvShape>& shapes,
                                      const std::vector<std::vector<Point>>& points);

/// What this index is, what it should be, and how they differ.
Fact index_fact(const IndexForm& form, const NamedIndex& index,
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

Fact fact_of(const WrongIndex& wrong);

}  // namespace convlab::grader::probe
