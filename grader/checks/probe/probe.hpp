#pragma once

#include <optional>

#include "common/serve/finding.hpp"
#include "grader/checks/probe/explanation.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::probe {

/// A stage, and a shape at which it is wrong.
struct WrongStage {
  Submission& submission;
  const StageInfo& stage;
  ConvShape failing{};
  bool any_shape = false;  ///< it must be right at every shape; else a fact must explain `failing`
};

/// Measures on small shapes which pixel meets which weight, where the sums are stored, what is
/// missing. Nothing if these are right, or if the program fails there.
/// @param one_row  the filters are 0 but for their last row, as in a puzzle of one dimension
/// @param nan_is_unwritten  the outputs that are NaN were never written in the device's memory
std::optional<Explanation> measure_mistake(const WrongStage& wrong, bool one_row,
                                           bool nan_is_unwritten = false);

/// Of an output that is nearly right: what is rounded. Nothing if an index or a term is wrong.
std::optional<Explanation> rounding_of(const WrongStage& wrong, bool is_infinite = false);

/// Whether it mixes pixels that lie in no window together, as a transform does: then an error
/// follows the largest products of an image, not those of one output.
bool is_transform(const WrongStage& wrong);

/// The loosest class that a stage's roundings show at these shapes.
Precision precision_shown(Submission& submission, const StageInfo& stage,
                          const std::vector<ConvShape>& shapes);

/// The finding with what was measured, and its cause.
Finding with_rounding(Finding found, const Explanation& rounding);

/// What a stage takes over from an earlier call.
std::optional<Explanation> kept_state(const WrongStage& wrong);

/// Which images a stage mixes up that is wrong with a MiB of the device's memory.
std::optional<Explanation> wrong_slices(const WrongStage& wrong);

/// As measure_mistake, with reads outside forgiven; only an index that has a name counts.
std::optional<Explanation> measure_index(const WrongStage& wrong);

/// Adds the smallest case that fails, and at which shapes it fails.
/// @return its first wrong output; nothing if `failing` is large or does not fail again
std::optional<WrongProduct> add_failing_shapes(const WrongStage& wrong, Finding& finding);

}  // namespace convlab::grader::probe
