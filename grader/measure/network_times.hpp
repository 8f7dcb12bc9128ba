#pragma once

#include <functional>

#include "grader/checks/network_check.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Called after each sample with the arrays of its call.
using InTurns = std::function<void(const CheckedLayer& layer, const Arrays& arrays)>;

/// Times each convolution of a run that was right with further calls (docs/grading.md, "The
/// clock"), in a random order: none can be prepared for. Each call has new random images, which
/// appear when prolog has returned, and the output of the call before; a random part of the output
/// is compared in double precision. A finding ends it. An emulated device has no times.
/// @param run  gets the samples, and the finding
void time_network(Submission& submission, NetworkOutcome& run, const Announce& announce,
                  const InTurns& in_turns = {});

}  // namespace convlab::grader
