#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "grader/checks/result/finding.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

/// How long a build may take; compiling for a GPU on a slow machine takes minutes.
inline constexpr std::chrono::minutes kBuildLimit{20};

/// Builds the student's program of a milestone, one build of a folder at a time. Without a GPU only
/// the emulated program is built, once there is one for a GPU.
/// @return the compiler's message, if it does not build
/// @throws EnvironmentError if CMake or the compiler is missing, or the folder cannot be written
std::optional<Finding> build_milestone(const CourseMilestone& milestone);

/// Builds a part of the workbook itself. @throws EnvironmentError if that fails
/// @param is_long  shows in a terminal what is compiled, with how much is left
void build_own_part(const std::string& target, bool is_long = false);

/// Whether build_custom_submission_parts has ended in this build folder before.
bool has_custom_submission_parts(bool on_cpu);

/// The parts that are needed to compile a custom submission; compiles no custom submission. The
/// first time, which takes long, it says so.
/// @param on_cpu  only those for a file that runs on the CPU
void build_custom_submission_parts(bool on_cpu = false);

/// The part of a build's output that a person must read: a few lines from the first error on; all
/// of a short output without an error.
std::string first_error(const std::string& output);

}  // namespace convlab::grader
