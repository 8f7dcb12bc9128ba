#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "grader/cli/course.hpp"
#include "grader/result/finding.hpp"

namespace convlab::grader {

/// How long a build may take; compiling for a GPU on a slow machine takes minutes.
inline constexpr std::chrono::minutes kBuildLimit{20};

/// Builds the student's program of a milestone, one build of a folder at a time. Without a GPU only
/// the emulated program is built, once there is one for a GPU.
/// @return what the compiler says, if it does not build
/// @throws EnvironmentError if CMake is missing, the compiler is, or the folder cannot be written
std::optional<Finding> build_milestone(const CourseMilestone& milestone);

/// Builds what compiles the files that somebody gives, none of which is compiled here.
/// @throws EnvironmentError if that fails
void build_given_file_parts();

/// The part of a build's output that a person must read: from the first error on, a few lines; all
/// of a short output without one.
std::string first_error(const std::string& output);

}  // namespace convlab::grader
