#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "grader/checks/rules.hpp"
#include "grader/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

// What a right output does not show. Each check asks for convolutions of its own and compares every
// element, like the cases before; the first finding ends it.

/// Where every shape must be right, shapes that nobody announced, drawn from the seed; then known
/// ones again, in another order.
std::optional<Finding> check_hidden_shapes(Submission& submission, const StageInfo& stage,
                                           const CasePlan& plan, std::uint64_t seed);

/// Which phase computes: prolog, convolve and epilog each see another input, and only that of
/// convolve may show in the output. On a device, convolve must also be the one that launches
/// kernels, and compute from what the device holds, not the host.
std::optional<Finding> check_phases(Submission& submission, const StageInfo& stage,
                                    const ConvShape& shape, std::uint64_t seed);

/// Whether one number of the input decides: one that differs from the call before, and one that
/// changes between prolog and convolve. Who looks at some numbers only, to see whether a result is
/// still good, is found here.
std::optional<Finding> check_small_changes(Submission& submission, const StageInfo& stage,
                                           const ConvShape& shape, std::uint64_t seed);

/// On the CPU: whether an input that it has seen, also scaled or in another order, takes a quarter
/// of the time of a new one. An image of each output, drawn from the seed, must be right.
std::optional<Finding> check_memory_of_inputs(Submission& submission, const StageInfo& stage,
                                              const ConvShape& shape, std::uint64_t seed);

/// Whether threads go on computing after the convolution has returned.
std::optional<Finding> check_stillness(Submission& submission, const StageInfo& stage,
                                       const CasePlan& plan, std::uint64_t seed);

/// For a file whose text has a float in an index: an output of more than 2^24 elements, the largest
/// whole number up to which a float holds each.
std::optional<Finding> check_large_index(Submission& submission, const StageInfo& stage,
                                         const CasePlan& plan, std::uint64_t seed);

/// On an emulated device with so little memory that a batch of 11 images takes several slices, the
/// output is the same. What runs out of memory there says nothing.
std::optional<Finding> check_slices(Submission& submission, const StageInfo& stage,
                                    const CasePlan& plan, std::uint64_t seed);

/// On an emulated device: with threads, warps and blocks in another order, and with streams that do
/// nothing before somebody waits for them, the output is the same.
std::optional<Finding> check_order(Submission& submission, const StageInfo& stage,
                                   const CasePlan& plan, std::uint64_t seed);

/// All of these, in this order. `announce` is told which one begins.
std::optional<Finding> check_behaviour(Submission& submission, const StageInfo& stage,
                                       const CasePlan& plan, std::uint64_t seed,
                                       const std::function<void(const std::string&)>& announce);

}  // namespace convlab::grader
