#pragma once

#include <optional>
#include <string>

#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Explains a wrong output from an emulated device's records: what was copied, which threads left
/// early, which memory was never written. Empty on other devices, or if nothing explains it.
/// @param wrong  its arrays are the submission's, as they were after `call`; more calls follow
std::optional<Finding> explain_on_device(Submission& submission, const StageInfo& stage,
                                         const WrongOutput& wrong, const Call& call,
                                         const std::string& where);

/// Threads that had ended when others reached a barrier, although the numbers are right.
std::optional<Finding> find_early_end(const Call& call, const SourceText& sources);

/// Device memory, streams or graphs that each run leaves. Emulated only.
std::optional<Finding> check_leaks(Submission& submission, const StageInfo& stage,
                                   const ConvShape& shape, std::uint64_t seed);

}  // namespace convlab::grader
