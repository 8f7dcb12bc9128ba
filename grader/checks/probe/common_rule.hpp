#pragma once

#include <string>
#include <vector>

#include "grader/checks/probe/predicate.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

/// Features of a product; those of an output if there are no taps.
std::vector<Feature> features_of(const ConvShape& s, const std::vector<Label>& labels, bool taps);

/// The simplest rule for exactly what is marked, at all shapes; empty if there is none.
std::string common_rule(const std::vector<std::vector<Feature>>& features,
                        const std::vector<std::vector<bool>>& marked);

}  // namespace convlab::grader::probe
