#pragma once

#include <string>

#include "common/serve/source_text.hpp"
#include "grader/checks/result/finding.hpp"

namespace convlab::grader {

/// The line that declares a float, and the one in which it is an index; empty if there is none.
std::string float_index(const SourceText& sources);

/// Adds lines to findings that cannot know their place: the call of not_implemented, static
/// variables, threads, exit(). Leaves other findings alone.
void quote_suspects(const SourceText& sources, Finding& finding);

}  // namespace convlab::grader
