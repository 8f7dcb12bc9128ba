#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "grader/checks/result/finding.hpp"
#include "grader/checks/rules.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

// Checks of behaviour that a right output does not show. Each check runs its own convolutions and
// compares every element, like the cases before; the first finding ends it.

/// Which phase computes: each sees another input, and the output must belong to that of convolve.
/// On a device, convolve must also launch kernels, and compute from the device's data.
std::optional<Finding> check_phases(Submission& submission, const StageInfo& stage,
                                    const ConvShape& shape, std::uint64_t seed);

/// On an emulated device: the output after a second convolve must be that after the first.
std::optional<Finding> check_second_convolve(Submission& submission, const StageInfo& stage,
                                             const CasePlan& plan, std::uint64_t seed);

/// On an emulated device with so little memory that a batch of 11 images takes several slices, the
/// output must be the same. Running out of memory there is no finding.
std::optional<Finding> check_slices(Submission& submission, const StageInfo& stage,
                                    const CasePlan& plan, std::uint64_t seed);

/// On an emulated device: with threads, warps and blocks in reverse order, and with streams that
/// work only when the host waits for them, the output must be the same.
std::optional<Finding> check_order(Submission& submission, const StageInfo& stage,
                                   const CasePlan& plan, std::uint64_t seed);

/// What counts of a finding of check_phases; none if the rules forgive it.
using JudgePhases = std::function<std::optional<Finding>(const Finding&)>;

/// All of these, in this order. Calls `announce` before each one.
std::optional<Finding> check_behaviour(Submission& submission, const StageInfo& stage,
                                       const CasePlan& plan, std::uint64_t seed,
                                       const std::function<void(const std::string&)>& announce,
                                       const JudgePhases& judge_phases);

}  // namespace convlab::grader
