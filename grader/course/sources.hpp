#pragma once

#include <filesystem>
#include <vector>

#include "grader/checks/result/check_result.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

/// The files of a milestone that students write: all sources in its folder, sorted.
std::vector<std::filesystem::path> source_files(const CourseMilestone& milestone);

/// Path (from the root of the tree) and SHA-256 of these files.
/// @throws EnvironmentError if a file cannot be read
std::vector<SourceFile> describe_files(const std::vector<std::filesystem::path>& files);

}  // namespace convlab::grader
