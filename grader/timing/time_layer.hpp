#pragma once

#include <optional>

#include "grader/checks/network_check.hpp"
#include "grader/timing/reference_times.hpp"

namespace convlab::grader {

/// Times a convolution of the network: further calls, each with the images in another order, each
/// image times a power of two, and a poisoned output. They must give the same bits in that order,
/// or else pass the oracle themselves. The first call is a sample only where it takes so long that
/// there is no other. An emulated device has no times.
///
/// The submission tells its own times; a finding says where they contradict the grader's clock, the
/// default stream or physics.
/// @param result     gets the samples
/// @param reference  called after each sample with the same numbers; null: nobody is
std::optional<Finding> time_layer(Submission& submission, const StageInfo& stage,
                                  const CheckedLayer& layer, LayerResult& result,
                                  ReferenceTimes* reference = nullptr);

}  // namespace convlab::grader
