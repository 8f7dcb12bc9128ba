#pragma once

#include <cstdint>
#include <optional>

#include "grader/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// On an emulated device: whether kernels compute the convolution, and not the host.
///
/// A convolution mixes the input with the weights. So the host may give kernels words that depend
/// on the input, and words that depend on the weights, in any form. If many words depend on both,
/// the host has computed them. The words that kernels write must depend on both. The same
/// convolution runs in three new processes: with some numbers, with another input, and with other
/// weights. A disguised result still changes with either, and so do random numbers. If it matters,
/// a fourth process tells random words from those that the input or the weights determine.
std::optional<Finding> check_data_flow(Submission& submission, const StageInfo& stage,
                                       const ConvShape& shape, std::uint64_t seed);

}  // namespace convlab::grader
