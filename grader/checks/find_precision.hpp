#pragma once

#include <cstdint>
#include <optional>

#include "common/tensor/precision.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The class to which a stage rounds its inputs: each output is one input times one, so the output
/// shows the rounding. kTf32 and kFp16 have the same number of bits; numbers that are too small for
/// half tell them apart. kFp32 if the stage gives no such output, or another error than rounding.
Precision precision_of_inputs(Submission& submission, const StageInfo& stage,
                              const ConvShape& shape, std::uint64_t seed);

/// The next class to try for a stage that is not exact enough for this one; none after the last.
std::optional<Precision> next_looser(Precision precision);

}  // namespace convlab::grader
