#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "grader/checks/probe/index_form.hpp"
#include "grader/checks/probe/labelled_terms.hpp"

namespace convlab::grader::probe {

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

/// Of products with a wrong pixel: whether a map of the output is taken for rows of another length,
/// as by h = i / H_out.
std::optional<Fact> find_output_rows(const std::vector<LabelledTerms>& all);

/// Of products with a wrong pixel: whether they are those of a tile that has rows of one length and
/// is read with another. The tile begins at pixel (0, 0).
std::optional<Fact> find_tile_rows(const std::vector<LabelledTerms>& all);

}  // namespace convlab::grader::probe
