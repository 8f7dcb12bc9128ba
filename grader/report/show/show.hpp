#pragma once

#include <filesystem>
#include <string>

#include "grader/measure/stage_steps.hpp"

namespace convlab::grader {

/// What the steps show, for a terminal: the block, how many steps, and the marks.
std::string steps_text(const StageSteps& steps, const SourceText& sources);

/// One page that works offline.
/// @param where  how the steps came about: a sentence
/// @param parts  the folder with style and script: grader/report/show in the tree
/// @throws EnvironmentError if one of these is missing
std::string steps_page(const StageSteps& steps, const SourceText& sources, const std::string& title,
                       const std::string& where, const std::filesystem::path& parts);

}  // namespace convlab::grader
