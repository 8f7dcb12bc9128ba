#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/result/json_fields.hpp"
#include "grader/measure/stage_steps.hpp"

namespace convlab::grader {

/// Something that is wrong in what a block did.
struct StepMark {
  std::string kind{};  ///< "race", "beyond", "unset", "unwritten" or "wrong"
  std::string text{};  ///< a sentence
  int array = -1;      ///< of StepNotes
  /// The steps, and in each the threads that do it.
  std::vector<std::pair<int, std::vector<int>>> steps{};
};

/// The worst first.
std::vector<StepMark> marks_of(const StageSteps& steps, const SourceText& sources);

/// How many elements a row of an array has that the program does not declare with two dimensions,
/// from the elements that neighbouring threads touch; 0 if they do not tell.
std::int64_t guessed_row(const StepNotes& notes, int array, std::int64_t element_bytes);

/// The steps, for machines and for the page.
Json steps_json(const StageSteps& steps, const SourceText& sources);

/// What the steps show, for a terminal: the block, how many steps, and the marks.
std::string steps_text(const StageSteps& steps, const SourceText& sources);

/// One page that works offline.
/// @param where  how the steps came about: a sentence
/// @param parts  the folder with style and script: grader/report/show in the tree
/// @throws EnvironmentError if one of these is missing
std::string steps_page(const StageSteps& steps, const SourceText& sources, const std::string& title,
                       const std::string& where, const std::filesystem::path& parts);

}  // namespace convlab::grader
