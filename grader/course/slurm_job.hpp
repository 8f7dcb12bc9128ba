#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"

namespace convlab::grader {

/// Runs a command as a Slurm job, for students whose own machine has no GPU: submits it, shows its
/// place in the queue, then its output. Slurm's own variables choose partition, time and account
/// (SBATCH_PARTITION, SBATCH_TIMELIMIT, SBATCH_ACCOUNT); a GPU is asked for unless SBATCH_GRES says
/// something else. Ctrl-C leaves the job in the queue. The same command finds it again, also when
/// it has ended: its folder below build/slurm, which the node must see, is named after the command.
/// @param words  the program and its arguments, run in the current folder
/// @return the exit code of the command; kInterrupted if it was left (stop_on_signals)
/// @throws EnvironmentError if Slurm is missing or refuses the job, or if the job ended without a
///   result; then the same command submits it again
ExitCode run_as_slurm_job(const std::vector<std::string>& words);

/// A job in the queue.
struct QueuedJob {
  bool waits = false;
  int before = 0;       ///< jobs of its partition that Slurm starts earlier, as far as one may see
  std::string words{};  ///< "2 jobs before it (Resources), expected to start in about 12 min"
};

/// This user's jobs in the queue: "17_3" is the third of an array. None if Slurm does not answer.
/// @throws EnvironmentError if there is no squeue
std::optional<std::map<std::string, QueuedJob>> slurm_queue();

void wait_a_second();  ///< less once somebody wants to stop

/// @param words  of sbatch, beside --parsable
/// @return the number of the job
/// @throws EnvironmentError if Slurm is missing or refuses it
std::string submit_to_slurm(std::vector<std::string> words);

/// The words of this process's own command line, the program by its full path.
std::vector<std::string> own_words();
/// The same without `--launcher slurm`.
std::vector<std::string> own_words_without_launcher();

}  // namespace convlab::grader
