#pragma once

#include <string>

#include "common/serve/finding.hpp"
#include "common/serve/source_text.hpp"

namespace convlab::grader {

/// The line that declares a float, and the one in which it is an index; empty if there is none.
Seen float_index(const SourceText& sources);

/// Lines of a finding that cannot know its place: the call of not_implemented, static variables,
/// threads, exit(). Empty for other findings; findings.txt says what is looked for.
Seen suspect_lines(const SourceText& sources, const Finding& finding);

}  // namespace convlab::grader
