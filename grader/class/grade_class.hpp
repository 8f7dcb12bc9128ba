#pragma once

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "grader/class/task.hpp"

namespace convlab::grader {

/// Called for every task that ended, with its place in the list; never by two threads at once.
using TaskEnded = std::function<void(std::size_t index)>;

/// Runs tasks until each has an outcome, or until interrupted.
using Launcher = std::function<void(const std::vector<Task>& tasks, const TaskEnded& ended,
                                    const volatile std::sig_atomic_t* interrupted)>;

/// Runs them on this machine.
/// @param jobs  how many at the same time, at least 1
/// @throws EnvironmentError of the first task that could not run; the others still run
Launcher local_launcher(int jobs);

struct SlurmSettings {
  int chunk = 1;               ///< submissions of one job of the array
  std::string gres = "gpu:1";  ///< empty: no device is requested
  std::string partition{};     ///< empty: the cluster's own
  int memory_mib = 8192;
  double limit_s = 0.0;                ///< for one submission
  int attempts = 3;                    ///< for a task that a node lost
  std::vector<std::string> options{};  ///< further ones for sbatch
};

/// Runs tasks as an array of Slurm jobs (sbatch) and collects their outcomes, so the tasks' folder
/// must be on a disk that all nodes see. If a node dies, its job is submitted again. After an
/// interruption the jobs go on; the next run finds them by the number in each task's folder and
/// waits for them.
/// @throws EnvironmentError if Slurm is missing, refuses the jobs, or does not answer for long
Launcher slurm_launcher(const SlurmSettings& settings);

/// Which submissions are graded although they are graded already.
enum class Again { kNone, kAll, kChangedRules };

struct ClassRequest {
  std::filesystem::path folder{};    ///< of the submissions
  std::filesystem::path database{};  ///< DATABASE.work lies beside it during grading
  std::filesystem::path roster{};    ///< empty: names come from the files
  std::string milestone{};           ///< empty: those that each submission contains
  TaskSettings settings{};
  bool times_alone = true;  ///< times last, one submission after the other
  Launcher launcher{};
  /// kChangedRules: those whose scores.json or grader was another one.
  Again again = Again::kNone;
  std::filesystem::path leaderboard{};  ///< a page that every outcome rewrites; empty: none
  bool allow_lower = false;  ///< a new outcome may give fewer points than the one it replaces
};

/// Grades the submissions in the folder that are not graded yet, and stores every outcome in the
/// database at once. Prints a line for each submission. A fault of one submission does not stop the
/// others.
/// @param interrupted  ends it once it is not 0; what was graded is kept
/// @return kPassed if everything is graded, kFallsShort if outcomes with fewer points were not
/// stored,
///   kEnvironment if the machine was at fault for some,
///   kInterrupted
ExitCode grade_class(const ClassRequest& request, const volatile std::sig_atomic_t& interrupted);

/// What the points of a milestone depend on beside the submission: the digest of its scores.json
/// and the commit of the grader.
std::string rules_of(const std::string& milestone);

/// "alice m1 75 of 75 points" and the sentence, if there is one.
std::string row_text(const SubmissionRow& row, int name_width, bool with_attempt);

}  // namespace convlab::grader
