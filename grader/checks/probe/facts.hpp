#pragma once

#include <optional>
#include <vector>

#include "grader/checks/probe/fact.hpp"

namespace convlab::grader::probe {

/// Measures what the program computes at those of these shapes at which it is wrong, three at most;
/// what has a name holds at all of them.
/// @param must  a shape whose numbers the fact must explain, too, because the others are not those
///              that the program promises
std::optional<Fact> find_fact(Program& program, const std::vector<ConvShape>& shapes, bool few_bits,
                              const std::optional<ConvShape>& must = {});

/// The same without a look at single products: what the numbers of one run at a larger shape tell.
std::optional<Fact> find_in_large(Program& program, const ConvShape& shape, bool few_bits);

}  // namespace convlab::grader::probe
