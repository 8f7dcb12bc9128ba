#pragma once

#include <optional>
#include <string>

#include "grader/findings/diagnosis.hpp"

namespace convlab::grader {

/// E-precision, if every element is nearly right: numbers passed through a smaller type. Names the
/// type and the numbers, if the output shows them.
std::optional<Finding> find_lost_precision(const WrongOutput& wrong, const std::string& where);

}  // namespace convlab::grader
