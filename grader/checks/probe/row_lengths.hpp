#pragma once

#include <optional>
#include <vector>

#include "grader/checks/probe/fact.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

/// Of products with a wrong pixel: whether a map of the output is taken for rows of another length,
/// as by h = i / H_out.
std::optional<Fact> find_output_rows(const std::vector<LabelledTerms>& all);

/// Of products with a wrong pixel: whether they are those of a tile that has rows of one length and
/// is read with another. The tile begins at pixel (0, 0).
std::optional<Fact> find_tile_rows(const std::vector<LabelledTerms>& all);

}  // namespace convlab::grader::probe
