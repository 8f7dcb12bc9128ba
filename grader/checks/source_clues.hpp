#pragma once

#include <optional>
#include <string>

#include "common/serve/source_text.hpp"
#include "grader/checks/result/finding.hpp"

namespace convlab::grader {

/// What the text of a file suggests if the wrong numbers alone say little: one array with rows of
/// two lengths, fragments with another layout than their array.
/// @param seen  the wrong numbers: "In case …: 25 of 25 elements are wrong."
std::optional<Finding> clue_in_sources(const SourceText& sources, const std::string& seen);

/// The line that declares a float, and the one in which it is an index; empty if there is none.
std::string float_index(const SourceText& sources);

/// Adds lines to findings that cannot know their place: the call of not_implemented, static
/// variables, threads, exit(). Leaves other findings alone.
void quote_suspects(const SourceText& sources, Finding& finding);

}  // namespace convlab::grader
