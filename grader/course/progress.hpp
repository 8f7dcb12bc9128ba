#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/stage/stage.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

enum class State { kHandedOut, kUnchecked, kPassed, kFailed };

/// "as handed out", "not checked yet", "passed", "not passed".
const char* to_string(State state);

/// How far a stage is.
struct Progress {
  StageInfo stage{};
  State state = State::kUnchecked;
  std::vector<int> batches{};  ///< that it passed
  std::string date{};          ///< of the check
  std::string finding{};       ///< what the check found
  bool changed = false;        ///< since that check
  CheckResult check{};         ///< the last one that this stage was part of
};

/// Whether a stage passed with as many images as a whole check has. A stage that was tried with few
/// images is not done: an index may overflow at more.
bool is_whole(const Progress& progress);

/// A student's progress, from the results in their usual folder: for each stage its last check
/// counts, whether all stages or only this one was checked.
std::vector<Progress> progress_of(const CourseMilestone& milestone);

/// "Up to batch 100 only; a whole check goes to 1000.", or empty if the check was whole.
std::string untried_text(const CheckResult& check);

/// To throw where a check must come first.
Error nothing_checked(const std::string& milestone);

/// The last checks of all stages as one result, as if all had been checked together, without stages
/// whose file is as handed out.
/// @throws Error that names the first stage whose file was not checked as it is now, and the
/// command; also if no stage was checked
CheckResult combined_result(const CourseMilestone& milestone);

}  // namespace convlab::grader
