#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "common/base/error.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/course/slurm_job.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// The job of a task: "17_3", and how often it was submitted.
struct JobOfTask {
  std::string job{};
  int attempts = 0;
};

fs::path job_file(const Task& task) {
  return task.folder() / "slurm-job";
}

JobOfTask job_of(const Task& task) {
  JobOfTask job;
  if (!fs::exists(job_file(task))) return job;
  std::istringstream text(read_text(job_file(task)));
  text >> job.job >> job.attempts;
  return job;
}

class SlurmRun {
 public:
  SlurmRun(const std::vector<Task>& tasks, const SlurmSettings& settings, double limit_s,
           const TaskEnded& ended, const volatile std::sig_atomic_t& interrupted)
      : tasks_(tasks),
        settings_(settings),
        limit_s_(limit_s),
        ended_(ended),
        interrupted_(interrupted) {
    for (std::size_t i = 0; i < tasks.size(); ++i) open_.insert(i);
  }

  void run() {
    auto answered = Clock::now();
    while (!open_.empty() && interrupted_ == 0) {
      const std::optional<std::set<std::string>> alive = jobs_in_queue();
      // Read after the list of jobs: a job that left the list has written its outcome.
      collect();
      if (alive) {
        answered = Clock::now();
        submit_what_nobody_has(*alive);
      } else if (Clock::now() - answered > std::chrono::minutes(10)) {
        throw EnvironmentError(
            "squeue has not answered for ten minutes; the jobs go on, and the same command "
            "collects what they write.");
      }
      if (!open_.empty()) wait();
    }
  }

 private:
  void wait() const {
    for (int i = 0; i < 10 && interrupted_ == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  void collect() {
    std::erase_if(open_, [&](std::size_t index) {
      const bool has_ended = tasks_[index].outcome().has_value();
      if (has_ended) ended_(index);
      return has_ended;
    });
  }

  // Every job of the array in a line of its own; nothing if Slurm does not answer.
  static std::optional<std::set<std::string>> jobs_in_queue() {
    const FinishedProcess run =
        ask_slurm({"squeue", "--me", "--noheader", "--array", "--format=%i"});
    if (!run.succeeded()) return std::nullopt;
    std::set<std::string> jobs;
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) jobs.insert(trimmed_end(line));
    return jobs;
  }

  void submit_what_nobody_has(const std::set<std::string>& alive) {
    std::vector<std::size_t> lost;
    for (const std::size_t index : std::set<std::size_t>(open_)) {
      const JobOfTask job = job_of(tasks_[index]);
      if (!job.job.empty() && alive.count(job.job) > 0) continue;
      if (job.attempts < settings_.attempts) {
        lost.push_back(index);
        continue;
      }
      tasks_[index].write_outcome(
          {.state = SubmissionState::kMachine,
           .sentence = "Slurm lost this submission " + std::to_string(job.attempts) + " times."});
    }
    if (!lost.empty()) submit(lost);
  }

  void submit(const std::vector<std::size_t>& indices) {
    const fs::path folder = tasks_.front().folder().parent_path() / "slurm";
    constexpr std::size_t kMostJobs = 1000;  // Slurm's usual limit of an array (MaxArraySize)
    const auto chunk = std::max(static_cast<std::size_t>(std::max(1, settings_.chunk)),
                                (indices.size() + kMostJobs - 1) / kMostJobs);
    const std::size_t jobs = (indices.size() + chunk - 1) / chunk;
    const std::string name =
        "array-" + std::to_string(::time(nullptr)) + "-" + std::to_string(submissions_++);
    for (std::size_t job = 0; job < jobs; ++job) {
      std::string list;
      for (std::size_t i = job * chunk; i < std::min(indices.size(), (job + 1) * chunk); ++i) {
        list += tasks_[indices[i]].folder().string() + "\n";
      }
      write_atomically(folder / (name + "." + std::to_string(job)), list);
    }
    const std::string id = sbatch(folder, name, jobs, chunk);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Task& task = tasks_[indices[i]];
      const int attempts = job_of(task).attempts + 1;
      write_atomically(job_file(task), id + "_" + std::to_string(i / chunk) + " " +
                                           std::to_string(attempts) + "\n");
    }
  }

  [[nodiscard]] std::string sbatch(const fs::path& folder, const std::string& name,
                                   std::size_t jobs, std::size_t chunk) const {
    constexpr double kMinute = 60.0;
    const int minutes =
        static_cast<int>(std::ceil(limit_s_ * static_cast<double>(chunk) / kMinute) + 1);
    std::vector<std::string> words = {"--job-name=convlab-class",
                                      "--array=0-" + std::to_string(jobs - 1),
                                      "--time=" + std::to_string(minutes),
                                      "--mem=8G",
                                      "--no-requeue",
                                      "--output=" + (folder / (name + ".%a.log")).string()};
    if (!settings_.gres.empty()) words.push_back("--gres=" + settings_.gres);
    words.insert(words.end(), settings_.options.begin(), settings_.options.end());
    // The folder is a parameter of the script, so that no name is read by a shell.
    write_atomically(folder / "job.sh",
                     "#!/bin/sh\nexec \"$1\" class task \"$2.$SLURM_ARRAY_TASK_ID\"\n");
    words.insert(words.end(),
                 {(folder / "job.sh").string(), fs::read_symlink("/proc/self/exe").string(),
                  (folder / name).string()});
    return submit_to_slurm(words);
  }

  const std::vector<Task>& tasks_;
  const SlurmSettings& settings_;
  double limit_s_;
  const TaskEnded& ended_;
  const volatile std::sig_atomic_t& interrupted_;
  std::set<std::size_t> open_;
  int submissions_ = 0;
};

}  // namespace

void run_locally(const std::vector<Task>& tasks, int jobs, const TaskEnded& ended,
                 const volatile std::sig_atomic_t& interrupted) {
  std::mutex mutex;
  in_threads(tasks.size(), static_cast<std::size_t>(jobs), [&](std::size_t i) {
    if (interrupted != 0) return;
    tasks[i].run(interrupted);
    const std::lock_guard lock(mutex);
    if (interrupted == 0) ended(i);
  });
}

void run_through_slurm(const std::vector<Task>& tasks, const SlurmSettings& settings,
                       double limit_s, const TaskEnded& ended,
                       const volatile std::sig_atomic_t& interrupted) {
  SlurmRun(tasks, settings, limit_s, ended, interrupted).run();
}

}  // namespace convlab::grader
