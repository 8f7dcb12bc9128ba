#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/result/check_result.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

/// The files of a milestone that students write: all sources in its folder, sorted.
std::vector<std::filesystem::path> source_files(const CourseMilestone& milestone);

/// The file of a stage: the one with its name, in stages/ or in the folder itself; else the only
/// one, conv_forward. Nothing if there is neither.
/// @param folder  of the milestone, or of its reference solutions
std::optional<std::filesystem::path> file_of_stage(const std::filesystem::path& folder,
                                                   const std::string& stage);

/// The title of a stage, as its file says it; empty if it does not.
std::string title_of(const std::filesystem::path& file, const std::string& stage);

/// Path (from the root of the tree) and SHA-256 of these files.
/// @throws EnvironmentError if a file cannot be read
std::vector<SourceFile> describe_files(const std::vector<std::filesystem::path>& files);

}  // namespace convlab::grader
