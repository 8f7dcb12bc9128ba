#pragma once

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/class/database.hpp"
#include "grader/class/work_of.hpp"

namespace convlab::grader {

/// What all submissions of one run of `grader class grade` have in common.
struct TaskSettings {
  std::filesystem::path grader{};  ///< the program that checks, build/bin/grader
  std::string batches{};           ///< empty: as grader check
  bool measures_speed = true;
  double limit_s = 0.0;  ///< for one submission, all of its files

  friend bool operator==(const TaskSettings&, const TaskSettings&) = default;
};

/// One submission on its way through a launcher: a folder that holds its sources, what to do with
/// them, and at the end what became of it. The folder is all that a task reads and writes, so a
/// task runs in a thread, or on another machine that sees the same disk.
class Task {
 public:
  /// What a task does: the correctness, which may run beside others; the times of what is right,
  /// which needs the machine alone; or both.
  enum class Phase { kCorrectness, kTimes, kBoth };

  /// @param folder  is made by write()
  explicit Task(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes sources and settings; an older outcome goes. Leaves a folder alone that holds the same
  /// task without an outcome: a job may be at work on it.
  /// @param checked  of an earlier phase; what kTimes begins with
  void write(const MilestoneWork& work, const TaskSettings& settings, Phase phase,
             const std::optional<CheckResult>& checked = std::nullopt) const;

  /// Grades, by running `grader check` for each file, and writes the outcome. Does nothing if there
  /// is an outcome, or when interrupted.
  /// @param interrupted  ends it once it is not 0; may be null
  /// @throws EnvironmentError if the folder is damaged, or the outcome cannot be written
  void run(const volatile std::sig_atomic_t* interrupted) const;

  /// What became of it; nothing if it did not come to its end.
  [[nodiscard]] std::optional<Outcome> outcome() const;
  void write_outcome(const Outcome& outcome) const;

  void remove() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// "correctness", "times", "both".
const char* to_string(Task::Phase phase);

/// One check of several that were made of the files of one submission: its stages, its findings,
/// and for each item of points the check that has the stage.
/// @param checks  at least one; all of the same milestone with the same rules
CheckResult merge_checks(const std::vector<CheckResult>& checks);

/// Whether there are points for speed that were left out of a check by --no-speed.
bool waits_for_times(const CheckResult& check);

}  // namespace convlab::grader
