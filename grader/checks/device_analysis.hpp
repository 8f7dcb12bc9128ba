#pragma once

#include <optional>
#include <string>

#include "grader/findings/diagnosis.hpp"
#include "grader/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Explains a wrong output of an emulated device by what the device knows: what was copied, which
/// threads left early, which memory nobody wrote; and by running the same convolution again with
/// its threads in other orders. Nothing on other devices, or if none of this explains it.
///
/// @param wrong  its arrays are the submission's, as they were after `call`; the output is
///               overwritten
std::optional<Finding> explain_on_device(Submission& submission, const StageInfo& stage,
                                         const WrongOutput& wrong, const Call& call,
                                         const std::string& where);

/// E-race of the last kernel, with the lines between which it may need a barrier.
Finding race(const std::string& seen, const DeviceNotes& notes, const SourceText& sources);

/// Device memory that each run leaves allocated. Emulated only.
std::optional<Finding> check_leaks(Submission& submission, const StageInfo& stage,
                                   const ConvShape& shape, std::uint64_t seed);

}  // namespace convlab::grader
