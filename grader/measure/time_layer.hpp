#pragma once

#include <optional>

#include "grader/checks/network_check.hpp"
#include "grader/measure/reference_times.hpp"

namespace convlab::grader {

/// Times a convolution of the network with further calls. Each has new random images, which appear
/// when prolog has returned, and a poisoned output; a random part of the output is compared in
/// double precision. The first call is no sample. An emulated device has no times.
///
/// On the CPU the grader's clock counts. On a GPU the submission reports the time, from events, and
/// the grader's clock bounds it in each call: if the two contradict, the grader's time counts. It
/// is a finding if they contradict in most calls, or if a time contradicts the default stream or
/// physics.
/// @param result     gets the samples
/// @param reference  called after each sample with the same numbers; may be null
std::optional<Finding> time_layer(Submission& submission, const StageInfo& stage,
                                  const CheckedLayer& layer, LayerResult& result,
                                  ReferenceTimes* reference = nullptr);

}  // namespace convlab::grader
