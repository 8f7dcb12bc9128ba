#pragma once

#include <optional>
#include <string>

#include "common/fault_words/source_text.hpp"
#include "grader/findings/diagnosis.hpp"

namespace convlab::grader {

/// What the text of a file suggests if the wrong numbers alone say little: a __shared__ variable
/// that is not an array, one array with rows of two lengths, fragments with another layout than
/// their array; or an output that holds the numbers of the input.
/// @param seen  the wrong numbers: "In case …: 25 of 25 elements are wrong."
std::optional<Finding> clue_in_sources(const WrongOutput& wrong, const SourceText& sources,
                                       const std::string& seen);

/// The line that declares a float, and the one in which it is an index; empty if there is none.
std::string float_index(const SourceText& sources);

/// Adds the line that calls not_implemented to E-not-implemented; leaves other findings alone.
void quote_exercise(const SourceText& sources, Finding& finding);

}  // namespace convlab::grader
