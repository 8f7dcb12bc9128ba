#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "grader/class/database.hpp"
#include "grader/class/submitted_files.hpp"

namespace convlab::grader {

/// Settings common to all submissions of one run of `grader class grade`.
struct TaskSettings {
  std::string grader{};     ///< the program that checks, build/bin/grader
  std::string batches{};    ///< empty: as grader check
  std::string rules{};      ///< the same; an edition also says what a tree of the course holds
  std::string precision{};  ///< of the term
  bool measures_speed = true;
  double limit_s = 1200.0;  ///< for all submissions of a student; on a cluster for one of them
};

/// One submission for a launcher: a folder with its sources, the settings, and at the end the
/// outcome. A task reads and writes only this folder, so it runs in a thread, or on another machine
/// that sees the same disk.
class Task {
 public:
  /// Checking correctness may run beside others; timing what is right needs the machine alone.
  enum class Phase { kCorrectness, kTimes, kBoth };

  /// @param folder  is made by write()
  explicit Task(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes sources and settings and removes an older outcome, unless the folder holds the same
  /// task: a job may be working on it. @param checked  the result with which kTimes begins
  void write(const MilestoneWork& work, const TaskSettings& settings, Phase phase,
             const std::optional<CheckResult>& checked = std::nullopt) const;

  /// Runs `grader check` for each file and writes the outcome, unless there is one or stop_asked.
  /// @param most_s   ends it earlier than its own limit does
  /// @param is_rest  the student's other submissions took some of it: if it ends the run, there is
  ///                 no outcome
  /// @return the seconds that it took
  /// @throws EnvironmentError if the folder is damaged, or the outcome cannot be written
  double run(double most_s = HUGE_VAL, bool is_rest = false) const;

  /// The outcome; empty if the task did not finish.
  [[nodiscard]] std::optional<Outcome> outcome() const;
  void write_outcome(const Outcome& outcome) const;

  void remove() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

const char* to_string(Task::Phase phase);

/// Joins the checks of one submission's files, at least one: all stages and findings, and each item
/// of points from the check that has its stage.
CheckResult merge_checks(const std::vector<CheckResult>& checks);

/// A kept check by today's judge and scores.json, without a run.
/// @return none if something must run, or if the settings ask for other runs
std::optional<CheckResult> judged_again(const CheckResult& kept, const TaskSettings& settings,
                                        const std::string& milestone);

/// Whether there are points for speed that were left out of a check by --no-speed.
bool waits_for_times(const CheckResult& check);

/// Called for every task that ended, with its place in the list; never by two threads at once.
using TaskEnded = std::function<void(std::size_t index)>;

/// The seconds that each student's tasks share; never asked by two threads at once.
struct StudentTime {
  std::vector<std::int64_t> students{};  ///< of the tasks
  std::function<double(std::size_t index)> left{};
  std::function<bool(std::size_t index)> is_rest{};  ///< others of the student have run
  std::function<void(std::size_t index, double seconds)> spend{};
};

/// Runs tasks on this machine, those of `jobs` students at a time, a student's newest first, until
/// each has an outcome, its student no time, or stop_asked.
/// @throws EnvironmentError of the first task that could not run; then no further one begins
void run_locally(const std::vector<Task>& tasks, int jobs, const StudentTime& time,
                 const TaskEnded& ended);

struct SlurmSettings {
  int chunk = 1;                       ///< submissions of one job of the array
  std::string gres = "gpu:1";          ///< empty: no device is requested
  std::vector<std::string> options{};  ///< further ones for sbatch
};

/// The same as an array of Slurm jobs, whose nodes must see the tasks' folder. If a node dies, its
/// job is submitted again. After an interruption the jobs go on; the next run finds them by the
/// number in each task's folder.
/// @param limit_s  for one task
/// @throws EnvironmentError if Slurm is missing, refuses the jobs, or does not answer for long
void run_through_slurm(const std::vector<Task>& tasks, const SlurmSettings& settings,
                       double limit_s, const TaskEnded& ended,
                       const std::function<void(const std::string&)>& waits);

struct ClassRequest {
  std::filesystem::path folder{};    ///< of the submissions
  std::filesystem::path database{};  ///< DATABASE.work lies beside it during grading
  std::filesystem::path roster{};    ///< empty: names come from the files
  std::string milestone{};           ///< empty: those that each submission contains
  TaskSettings settings{};
  int jobs = 1;             ///< submissions at the same time; their times are taken alone, last
  bool on_cluster = false;  ///< through Slurm instead; there a job has its device alone
  SlurmSettings slurm{};
  bool again = false;          ///< also what is graded already
  bool changed_rules = false;  ///< of these those whose scores.json or grader was another one
  std::filesystem::path leaderboard{};  ///< a page that every outcome rewrites; empty: none
  bool allow_lower = false;  ///< a new outcome may give fewer points than the one it replaces
};

/// Grades the submissions in the folder that are not graded yet, until stop_asked, stores every
/// outcome at once and prints a line for each. A fault of one does not stop the others.
/// @return kPassed if everything is graded, kFallsShort if outcomes with fewer points were not
///   stored, kEnvironment if the machine was at fault for some, kInterrupted
ExitCode grade_class(const ClassRequest& request);

/// "alice m1 75 of 75 points" and the sentence, if there is one.
std::string row_text(const SubmissionRow& row, bool with_attempt);

}  // namespace convlab::grader
