#pragma once

#include <optional>

#include "grader/checks/probe/fact.hpp"
#include "grader/checks/result/finding.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::probe {

/// Measures what a wrong stage computes, on small shapes: which pixel meets which weight, where the
/// sums are stored, what is missing. Nothing if the small shapes are right, or if the program fails
/// there.
/// @param failing    at which the stage is wrong
/// @param any_shape  it must be right at every shape; if not, the fact must explain `failing`
/// @param one_row    the filters are 0 but for their last row, as in a puzzle of one dimension
/// @param nan_is_unwritten  the outputs that are NaN were never written in the device's memory
std::optional<Fact> measure_mistake(Submission& submission, const StageInfo& stage,
                                    const ConvShape& failing, bool any_shape, bool one_row,
                                    bool nan_is_unwritten = false);

/// For a stage whose output is nearly right: what it rounds. Nothing if it does more than that:
/// then an index or a term is wrong.
std::optional<Fact> rounding_of(Submission& submission, const StageInfo& stage,
                                const ConvShape& failing, bool any_shape, bool is_infinite = false);

/// Whether it mixes pixels that lie in no window together, as a transform does: then an error
/// follows the largest products of an image, not those of one output.
bool is_transform(Submission& submission, const StageInfo& stage, const ConvShape& failing);

/// The loosest class that a stage's roundings show at these shapes.
Precision precision_shown(Submission& submission, const StageInfo& stage,
                          const std::vector<ConvShape>& shapes);

/// The finding with what was measured, and its cause.
Finding with_rounding(Finding found, const Fact& rounding);

/// What a stage takes over from an earlier call.
std::optional<Fact> kept_state(Submission& submission, const StageInfo& stage,
                               const ConvShape& failing, bool any_shape);

/// Which images a stage mixes up that is wrong at this shape with the device's memory in MiB.
std::optional<Fact> wrong_slices(Submission& submission, const StageInfo& stage,
                                 const ConvShape& failing, int memory);

/// As measure_mistake, for a stage that reads outside its arrays: such reads are forgiven
/// meanwhile. Only an index that has a name counts.
std::optional<Fact> measure_index(Submission& submission, const StageInfo& stage);

/// Adds the smallest case that fails, and at which shapes it fails.
/// @return its first wrong output; nothing if `failing` is large or does not fail again
std::optional<WrongProduct> add_failing_shapes(Submission& submission, const StageInfo& stage,
                                               const ConvShape& failing, Finding& finding);

}  // namespace convlab::grader::probe
