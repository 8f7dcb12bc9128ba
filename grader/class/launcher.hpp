#pragma once

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

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

}  // namespace convlab::grader
