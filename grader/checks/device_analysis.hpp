#pragma once

#include <optional>
#include <string>

#include "grader/checks/findings/diagnosis.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Explains a wrong output of an emulated device from the device's records: what was copied, which
/// threads left early, which memory was never written. It also runs the same convolution again with
/// the threads in other orders. Empty on other devices, or if none of this explains the output.
///
/// @param wrong  its arrays are the submission's, as they were after `call`; the output is
///               overwritten
std::optional<Finding> explain_on_device(Submission& submission, const StageInfo& stage,
                                         const WrongOutput& wrong, const Call& call,
                                         const std::string& where);

/// Device memory that each run leaves allocated. Emulated only.
std::optional<Finding> check_leaks(Submission& submission, const StageInfo& stage,
                                   const ConvShape& shape, std::uint64_t seed);

}  // namespace convlab::grader
