#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/scores/grade.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The rules that a right file must keep, by name: of its task, and of the ranked run if that is
/// asked for.
std::vector<std::string> rules_to_keep(const GradeRequest& request);

/// Looks whether a right file keeps them, on an emulated device: what a GPU does not tell, it does.
/// @param stage  with the precision class that was found
/// @param shape  of a layer of the network; a small batch
/// @return E-course-rule, which names each rule that is broken
std::optional<Finding> broken_rules(const GradeRequest& request, Submission& submission,
                                    const StageInfo& stage, const ConvShape& shape);

/// Of a task that unrolls the whole batch: why a batch is the first at which an int may overflow,
/// "At 8767 images the unrolled matrix has 2749331200 elements, more than an int holds (2147483647)
/// …". Empty if it is small enough, or for other tasks.
std::string int_overflow(const GradeRequest& request, int batch);

}  // namespace convlab::grader
