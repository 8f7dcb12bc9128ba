#pragma once

#include <optional>
#include <string>

#include "grader/checks/probe/fact.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::probe {

/// Measures what a wrong stage computes, on small shapes: which pixel meets which weight, where the
/// sums are stored, what is missing. Nothing if the small shapes are right, or if the program fails
/// there.
/// @param failing    at which the stage is wrong
/// @param any_shape  it must be right at every shape; if not, the fact must explain `failing`
std::optional<Fact> measure_mistake(Submission& submission, const StageInfo& stage,
                                    const ConvShape& failing, bool any_shape);

/// The same for a stage that reads outside its arrays: such reads are forgiven meanwhile. Only an
/// index that has a name counts.
std::optional<Fact> measure_index(Submission& submission, const StageInfo& stage);

/// What the shapes tell that fail.
struct FailingShapes {
  std::string lines{};  ///< of a finding: the smallest shape, the rule; empty if none was found
  bool needs_stride = false;  ///< the smallest is right with a stride of 1
};

/// @param is_shown  whether the finding describes `failing`, not another shape
/// @return without lines if `failing` is large or does not fail again
FailingShapes shapes_that_fail(Submission& submission, const StageInfo& stage,
                               const ConvShape& failing, bool is_shown);

}  // namespace convlab::grader::probe
