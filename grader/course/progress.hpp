#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/stage/stage.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/course/course.hpp"
#include "grader/course/puzzles.hpp"

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

/// What a student expected of a stage before the first measurement.
struct Prediction {
  std::string made{};     ///< UTC
  std::string limiter{};  ///< one of kLimiters
  double loads = 0.0;     ///< of a thread from global and shared memory, for each multiply-add
  double inputs = 0.0;    ///< how often an element of the input is loaded from global memory
  double op_ms = 0.0;     ///< of all convolutions at 1000 images; 0: none, there is no GPU
  std::string reason{};
};

inline constexpr std::array kLimiters = {"memory", "shared-memory", "arithmetic", "latency",
                                         "launches"};

/// Whether the reason argues: a sentence with a number. Its points do not depend on being right.
bool is_reasoned(const std::string& reason);

/// What `explain` counted in a stage, as Prediction has it.
struct Counted {
  double loads = 0.0;
  double inputs = 0.0;
};

/// A broken kernel of repairs/: the cause that the student named before mending it, the id of a
/// finding; or the answer in the detective's case.
struct Repair {
  std::string named{};
  bool mended = false;
};

/// A hint that was read, and what the last check had found by then.
struct ShownHint {
  std::string shown{};    ///< UTC
  std::string list{};     ///< "m1", "m4/streams", or a finding of finding_hints.json
  int number = 0;         ///< in the list, from 1
  std::string finding{};  ///< empty: none
  std::string stage{};    ///< empty: of the whole milestone
};

/// What a student did in a milestone that no check repeats. `grader submit` packs it, so that it
/// survives a new clone.
struct Notebook {
  SolvedFiles puzzles{};
  /// By the chapter's question, "3", or the stage, whose measurement differs from its prediction.
  std::map<std::string, std::string> answers{};
  std::map<std::string, Prediction> predictions{};  ///< by stage
  std::map<std::string, Repair> repairs{};          ///< by stage
  std::map<std::string, Counted> explained{};       ///< stages whose `explain` was read
  std::vector<ShownHint> hints{};
};

/// build/notebook/m4.json.
std::filesystem::path notebook_file(const CourseMilestone& milestone);

/// Empty if there is none yet. @throws EnvironmentError if the file is damaged
Notebook read_notebook(const CourseMilestone& milestone);
/// @param name  for the message
Notebook parse_notebook(const std::string& text, const std::string& name);

/// @throws EnvironmentError if it cannot be written
void write_notebook(const CourseMilestone& milestone, const Notebook& notebook);

/// Lists of hints, each from a nudge to nearly the code. hints.json, beside the chapter, has one
/// for each stage, by its id, and "general" for the whole milestone; finding_hints.json has one for
/// each finding.
using Hints = std::map<std::string, std::vector<std::string>>;

/// @throws EnvironmentError that names the file if it is not such a file, or a list is empty
Hints read_hints(const std::filesystem::path& file);

}  // namespace convlab::grader
