#pragma once

#include <cstddef>
#include <vector>

#include "grader/checks/mend/expression.hpp"

namespace convlab::grader::mend {

/// Adds what changes of tokens [begin, end) as a whole: what calls and launches get, and a bound of
/// a value or a loop.
void change_wholes(const rewrite::Source& source, Site::Form form, std::size_t begin,
                   std::size_t end, const Names& names, std::vector<Change>& changes);

}  // namespace convlab::grader::mend
