#pragma once

#include <string>
#include <vector>

#include "grader/class/launcher.hpp"

namespace convlab::grader {

struct SlurmSettings {
  int chunk = 1;               ///< submissions of one job of the array
  std::string gres = "gpu:1";  ///< empty: no device is asked for
  std::string partition{};     ///< empty: the cluster's own
  int memory_mib = 8192;
  double limit_s = 0.0;                ///< for one submission
  int attempts = 3;                    ///< for a task that a node lost
  std::vector<std::string> options{};  ///< further ones for sbatch
};

/// Runs tasks as an array of Slurm jobs (sbatch) and collects what they write, so the tasks' folder
/// must be on a disk that all nodes see. A job whose node died is submitted again. When interrupted
/// or cut off, the jobs go on; the next run finds them by the number that lies in each task's
/// folder and waits for them.
/// @throws EnvironmentError if Slurm is missing, or refuses the jobs, or does not answer for long
Launcher slurm_launcher(const SlurmSettings& settings);

}  // namespace convlab::grader
