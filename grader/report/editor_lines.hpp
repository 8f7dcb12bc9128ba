#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/checks/result/check_result.hpp"

namespace convlab::grader {

/// Findings and warnings as editors read them. As GCC prints its errors, "m1/conv.cpp:44:5: error:
/// …" with `note:` lines; or as annotations for the actions of a repository on GitHub.
/// @param format   "gcc" or "github"
/// @param sources  the files that the findings may name; a finding without a place gets line 1 of
///                 the first one
/// @param root     paths are relative to it
std::string editor_lines(const CheckResult& check, const std::string& format,
                         const std::vector<std::filesystem::path>& sources,
                         const std::filesystem::path& root);

}  // namespace convlab::grader
