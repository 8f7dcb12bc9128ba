#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/result/json_fields.hpp"
#include "grader/measure/stage_steps.hpp"

namespace convlab::grader {

/// The steps that a race or a fault was found in.
struct StepMark {
  std::string text{};  ///< what was found
  int array = -1;      ///< of StepNotes
  /// The steps in its lines, and in each the threads.
  std::vector<std::pair<int, std::vector<int>>> steps{};
};

/// Nothing if neither was found.
std::optional<StepMark> mark_of(const StageSteps& steps);

/// The steps, for machines and for the page.
Json steps_json(const StageSteps& steps, const SourceText& sources);

/// The block, and how many steps: a sentence.
std::string block_text(const StepNotes& notes);

/// One page that works offline.
/// @param where  how the steps came about: a sentence
/// @param parts  the folder with style and script: grader/report/show in the tree
/// @throws EnvironmentError if one of these is missing
std::string steps_page(const StageSteps& steps, const SourceText& sources, const std::string& title,
                       const std::string& where, const std::filesystem::path& parts);

}  // namespace convlab::grader
