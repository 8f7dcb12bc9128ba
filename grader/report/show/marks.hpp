#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

/// The student's name of an array: the kernel's parameter or the variable.
std::string array_name(const StepNotes& notes, const StepArray& array, const SourceText& sources);

/// "input", "weights" or "output"; empty if it is none of them.
std::string array_role(const StageSteps& steps, const StepArray& array, const SourceText& sources);

/// The worst first.
std::vector<StepMark> marks_of(const StageSteps& steps, const SourceText& sources);

/// How many elements a row of an array has that the program does not declare with two dimensions,
/// from the elements that neighbouring threads touch; 0 if they do not tell.
std::int64_t guessed_row(const StepNotes& notes, int array, std::int64_t element_bytes);

}  // namespace convlab::grader
