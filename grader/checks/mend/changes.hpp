#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/serve/finding.hpp"
#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

using Choices = std::vector<std::pair<std::size_t, std::size_t>>;  ///< sites and alternatives
using Changes = std::vector<const Edit*>;                          ///< edits that are made together
using ByLines = std::map<std::vector<std::size_t>, std::vector<Changes>>;

/// "3:1,7:2", as CONVLAB_MEND takes it.
std::string listed(const Choices& choices);

Choices joined(const Changes& edits);

bool share_a_site(const Edit& a, const Edit& b);

/// As it is told of a file.
Mend mend_of(const Changes& edits, const std::string& file);

/// Changes by their lines, the shortest first, without those of which a part of the lines is
/// enough.
ByLines by_lines(const std::vector<Changes>& mends);

/// Of a statement that may stand in many places only the first of them.
void keep_first_places(ByLines& mends);

}  // namespace convlab::grader::mend
