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
#include "grader/report/table.hpp"

namespace convlab::grader {

enum class State { kHandedOut, kUnchecked, kPassed, kFailed };

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

/// Whether a stage passed with as many images as a check has without --batches: an index may
/// overflow at more. `next`, `list` and `submit` call nothing else done.
bool is_whole(const Progress& progress);

/// A student's progress: for each stage its last check counts, from build/results.
std::vector<Progress> progress_of(const CourseMilestone& milestone);

/// The stages that the milestone requires and the check did not find, unless one was asked for by
/// name: "im2col-gemm, fused-gemm".
std::string missing_stages(const CheckResult& check);

/// "Up to batch 100 only; a whole check goes to 1000.", or empty if the check was whole.
std::string untried_text(const CheckResult& check);

/// To throw where a check must come first.
Error nothing_checked(const std::string& milestone);

/// The last checks of all stages as one result, without stages whose file is as handed out.
/// @throws Error that names the first stage whose file was not checked as it is now; also if no
///   stage was checked
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

/// What `explain` says of a prediction: that it was right, or what was predicted, with a question.
/// @param answer  the command that keeps the student's sentence
std::string prediction_text(const Prediction& slip, const Counted& counted,
                            const std::string& answer);

/// A broken kernel of repairs/, or the detective's case: the cause that the student named.
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

/// What a student did in a milestone that no check repeats. `grader submit` packs it.
struct Notebook {
  SolvedFiles puzzles{};
  /// By the chapter's question, "3", or the stage that was predicted.
  std::map<std::string, std::string> answers{};
  std::map<std::string, Prediction> predictions{};  ///< by stage
  std::map<std::string, Repair> repairs{};          ///< by stage
  std::map<std::string, Counted> explained{};       ///< stages whose `explain` was read
  std::vector<ShownHint> hints{};
  /// That checks and `explain` showed, oldest first: an answer may argue with them, also if the
  /// file has changed since.
  std::vector<KnownNumber> numbers{};
};

/// Notes numbers that are shown now, unless they are 0 or noted already; the oldest of 1000 make
/// room.
void note_numbers(Notebook& notebook, const std::vector<KnownNumber>& numbers);

/// build/notebook/m4.json, read as empty if there is none.
/// @throws EnvironmentError if it is damaged, or cannot be written
std::filesystem::path notebook_file(const CourseMilestone& milestone);
Notebook read_notebook(const CourseMilestone& milestone);
void write_notebook(const CourseMilestone& milestone, const Notebook& notebook);

/// Lists of hints, each from a nudge to nearly the code: by stage, and "general" for the milestone,
/// in hints.json beside the chapter; by finding in finding_hints.json.
using Hints = std::map<std::string, std::vector<std::string>>;

/// @throws EnvironmentError that names the file if it is not such a file, or a list is empty
Hints read_hints(const std::filesystem::path& file);

}  // namespace convlab::grader
