#pragma once

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
  bool has_names = true;  ///< otherwise numbers of the first shape
};

/// The index through these points, by shape; nothing if none goes through all of them.
std::optional<NamedIndex> named_index(const IndexForm& form, const std::vector<ConvShape>& shapes,
                                      const std::vector<std::vector<Point>>& points);

/// What this index is, what it should be, and how they differ.
Fact index_fact(const IndexForm& form, const NamedIndex& index,
                const std::vector<ConvShape>& shapes);

}  // namespace convlab::grader::probe
