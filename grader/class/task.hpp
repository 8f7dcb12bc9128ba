#pragma once

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/class/database.hpp"
#include "grader/class/submitted_files.hpp"

namespace convlab::grader {

/// Settings common to all submissions of one run of `grader class grade`.
struct TaskSettings {
  std::string grader{};   ///< the program that checks, build/bin/grader
  std::string batches{};  ///< empty: as grader check
  bool measures_speed = true;
  double limit_s = 0.0;  ///< for one submission, all of its files

  friend bool operator==(const TaskSettings&, const TaskSettings&) = default;
};

/// One submission for a launcher: a folder with its sources, the settings, and at the end the
/// outcome. A task reads and writes only this folder, so it runs in a thread, or on another machine
/// that sees the same disk.
class Task {
 public:
  /// What a task does: check correctness, which may run beside others; time what is right, which
  /// needs the machine alone; or both.
  enum class Phase { kCorrectness, kTimes, kBoth };

  /// @param folder  is made by write()
  explicit Task(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes sources and settings and removes an older outcome. Does not touch a folder that holds
  /// the same task: a job may be working on it, or has ended meanwhile.
  /// @param checked  the result of an earlier phase, with which kTimes begins
  void write(const MilestoneWork& work, const TaskSettings& settings, Phase phase,
             const std::optional<CheckResult>& checked = std::nullopt) const;

  /// Grades, by running `grader check` for each file, and writes the outcome. Does nothing if there
  /// is an outcome, or when interrupted.
  /// @param interrupted  ends it once it is not 0; may be null
  /// @throws EnvironmentError if the folder is damaged, or the outcome cannot be written
  void run(const volatile std::sig_atomic_t* interrupted) const;

  /// The outcome; empty if the task did not finish.
  [[nodiscard]] std::optional<Outcome> outcome() const;
  void write_outcome(const Outcome& outcome) const;

  void remove() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// "correctness", "times", "both".
const char* to_string(Task::Phase phase);

/// Joins the checks of one submission's files into one: all stages, all findings, and for each item
/// of points the check that has the stage.
/// @param checks  at least one; all of the same milestone with the same rules
CheckResult merge_checks(const std::vector<CheckResult>& checks);

/// Whether there are points for speed that were left out of a check by --no-speed.
bool waits_for_times(const CheckResult& check);

}  // namespace convlab::grader
