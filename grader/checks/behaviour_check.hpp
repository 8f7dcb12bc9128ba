#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "grader/checks/network_check.hpp"
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

/// On an emulated device the output must be the same after a second convolve; with so little memory
/// that a batch of 11 images takes several slices (running out of it is no finding); and with
/// threads, warps and blocks in reverse order and streams that work only when the host waits for
/// them.
std::optional<Finding> check_emulated(
    Submission& submission, const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
    const Announce& announce = [](const auto&) {});

/// What counts of a finding of check_phases; none if the rules forgive it.
using JudgePhases = std::function<std::optional<Finding>(const Finding&)>;

/// All of these and the checks of other devices. Calls `announce` before each one.
std::optional<Finding> check_behaviour(Submission& submission, const StageInfo& stage,
                                       const CasePlan& plan, std::uint64_t seed,
                                       const Announce& announce, const JudgePhases& judge_phases);

}  // namespace convlab::grader
