#pragma once

#include "grader/checks/result/check_result.hpp"
#include "grader/checks/rules.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Whether inputs, products or sums are of 16 bits.
bool is_half(Precision precision);

/// The points that the course gave for this file: all or none for a right output, times the share
/// that its time rule gives.
/// @param rules    with an edition and a task that has points
/// @param sources  of the file
EditionScore edition_score(const RulesRequest& rules, const CheckResult& check,
                           const SourceText& sources);

}  // namespace convlab::grader
