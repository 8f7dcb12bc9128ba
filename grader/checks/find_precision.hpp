#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/precision.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The class of a stage, shown by inputs and weights that make one rounding visible each: that of
/// an input (the weight is one), of a weight (the input is one), of a product of two short numbers,
/// and of a sum of numbers that are exact up to it. kTf32 and kFp16 have the same number of bits;
/// numbers that are too small for half tell them apart. The loosest of all shapes, because a stage
/// may have a kernel for each. kFp32 if the stage gives no output, or another error than rounding.
Precision precision_shown(Submission& submission, const StageInfo& stage,
                          const std::vector<ConvShape>& shapes, std::uint64_t seed);

/// The next class to try for a stage that is not exact enough for this one; none after the last.
std::optional<Precision> next_looser(Precision precision);

}  // namespace convlab::grader
