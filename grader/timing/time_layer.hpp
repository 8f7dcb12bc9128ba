#pragma once

#include <optional>

#include "grader/checks/network_check.hpp"
#include "grader/timing/reference_times.hpp"

namespace convlab::grader {

/// Times a convolution of the network: further calls, each with random images that nobody has seen,
/// which appear when prolog has returned, and a poisoned output, of which a random part is compared
/// in double precision. The first call is a sample only where it takes so long that there is no
/// other. An emulated device has no times.
///
/// On the CPU the time is the grader's own. On a GPU the submission tells it, from events, and the
/// grader's clock bounds it in each call: where the two contradict, the grader's counts. A finding
/// says where they contradict in most calls, or where a time contradicts the default stream or
/// physics.
/// @param result     gets the samples
/// @param reference  called after each sample with the same numbers; null: nobody is
std::optional<Finding> time_layer(Submission& submission, const StageInfo& stage,
                                  const CheckedLayer& layer, LayerResult& result,
                                  ReferenceTimes* reference = nullptr);

}  // namespace convlab::grader
