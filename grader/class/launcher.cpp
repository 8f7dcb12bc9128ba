#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/course/course.hpp"
#include "grader/course/slurm_job.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// The job of a task, "17_3", and how often it was submitted: its file beside the task.
struct JobOfTask {
  fs::path file;
  std::string job{};
  int attempts = 0;

  explicit JobOfTask(const Task& task) : file(task.folder() / "slurm-job") {
    if (!fs::exists(file)) return;
    std::istringstream text(read_text(file));
    text >> job >> attempts;
  }
};

// Submits an array of jobs. A file for each names its tasks.
void submit(const std::vector<Task>& tasks, const SlurmSettings& settings, double limit_s) {
  static int submissions = 0;
  const fs::path folder = tasks.front().folder().parent_path() / "slurm";
  constexpr std::size_t kMostJobs = 1000;  // Slurm's usual limit of an array (MaxArraySize)
  const auto chunk = std::max(static_cast<std::size_t>(settings.chunk),
                              (tasks.size() + kMostJobs - 1) / kMostJobs);
  const std::size_t jobs = (tasks.size() + chunk - 1) / chunk;
  const std::string list =
      (folder / ("array-" + std::to_string(::time(nullptr)) + "-" + std::to_string(submissions++)))
          .string();
  std::vector<std::string> folders(jobs);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    folders[i / chunk] += tasks[i].folder().string() + "\n";
  }
  for (std::size_t job = 0; job < jobs; ++job) {
    write_atomically(list + "." + std::to_string(job), folders[job]);
  }
  constexpr double kMinute = 60.0;
  const double minutes = std::ceil(limit_s * static_cast<double>(chunk) / kMinute) + 1;
  std::vector<std::string> words = {"--job-name=convlab-class",
                                    "--array=0-" + std::to_string(jobs - 1),
                                    "--time=" + std::to_string(std::lround(minutes)),
                                    "--mem=8G",
                                    "--no-requeue",
                                    "--output=" + list + ".%a.log"};
  if (!settings.gres.empty()) words.push_back("--gres=" + settings.gres);
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  // The folder is a parameter of the script, so that no name is read by a shell.
  write_atomically(folder / "job.sh",
                   "#!/bin/sh\nexec \"$1\" class task \"$2.$SLURM_ARRAY_TASK_ID\"\n");
  words.insert(words.end(),
               {(folder / "job.sh").string(), fs::read_symlink("/proc/self/exe").string(), list});
  const std::string id = submit_to_slurm(words);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const JobOfTask job(tasks[i]);
    write_atomically(job.file, id + "_" + std::to_string(i / chunk) + " " +
                                   std::to_string(job.attempts + 1) + "\n");
  }
}

}  // namespace

void run_locally(const std::vector<Task>& tasks, int jobs, const TaskEnded& ended) {
  std::mutex mutex;
  in_threads(tasks.size(), static_cast<std::size_t>(jobs), [&](std::size_t i) {
    if (stop_asked != 0) return;
    tasks[i].run();
    const std::lock_guard lock(mutex);
    if (stop_asked == 0) ended(i);
  });
}

void run_through_slurm(const std::vector<Task>& tasks, const SlurmSettings& settings,
                       double limit_s, const TaskEnded& ended) {
  constexpr int kAttempts = 3;  // for a task that a node lost
  std::vector<std::size_t> open(tasks.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (auto answered = Clock::now(); stop_asked == 0; wait_a_second()) {
    const auto queue = slurm_queue();
    // Read after the queue: a job that left it has written its outcome.
    std::erase_if(open, [&](std::size_t index) {
      const bool has_ended = tasks[index].outcome().has_value();
      if (has_ended) ended(index);
      return has_ended;
    });
    if (open.empty()) return;
    if (!queue && Clock::now() - answered > std::chrono::minutes(10)) {
      throw EnvironmentError(
          "squeue has not answered for ten minutes; the jobs go on, and the same command "
          "collects what they write.");
    }
    if (!queue) continue;
    answered = Clock::now();
    std::vector<Task> lost;
    for (const std::size_t index : open) {
      const JobOfTask job(tasks[index]);
      if (queue->contains(job.job)) continue;
      if (job.attempts < kAttempts) {
        lost.push_back(tasks[index]);
      } else {
        tasks[index].write_outcome(
            {.state = SubmissionState::kMachine,
             .sentence = "Slurm lost this submission " + std::to_string(kAttempts) + " times."});
      }
    }
    if (!lost.empty()) submit(lost, settings, limit_s);
  }
}

}  // namespace convlab::grader
