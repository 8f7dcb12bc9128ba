#pragma once

#include <cstdint>
#include <optional>

#include "grader/checks/result/finding.hpp"
#include "grader/checks/rules.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// For a file that keeps an index in a float or a half: shapes at which these no longer hold every
/// whole number, or at which a quotient is rounded down to the number before.
std::optional<Finding> check_narrow_index(Submission& submission, const StageInfo& stage,
                                          const CasePlan& plan, std::uint64_t seed);

}  // namespace convlab::grader
