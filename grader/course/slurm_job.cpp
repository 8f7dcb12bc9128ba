#include "grader/course/slurm_job.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <utility>

#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/course/course.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// ", expected to start in about 12 min": Slurm tells the local time, "2027-02-01T14:05:00", or
// "N/A".
std::string wait_text(const std::string& start) {
  std::tm time{};
  if (::strptime(start.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return {};
  time.tm_isdst = -1;
  const double minutes = std::max(0.0, std::difftime(std::mktime(&time), std::time(nullptr)) / 60);
  const bool in_hours = minutes >= 90;
  return ", expected to start in about " +
         std::to_string(std::lround(in_hours ? minutes / 60 : minutes)) +
         (in_hours ? " h" : " min");
}

FinishedProcess ask_slurm(std::vector<std::string> words) {
  constexpr std::chrono::seconds kAnswer{60};
  const std::string program = words.front();
  FinishedProcess run = run_process({.words = std::move(words), .time_limit = kAnswer});
  if (run.exit_code == kNoSuchProgram) {
    throw EnvironmentError("There is no " + program +
                           ": run this on a machine of the cluster where Slurm's commands are "
                           "(docs/setup.md shows how to do it over ssh), or leave --launcher out.");
  }
  return run;
}

/// A job on its way through the queue.
class Job {
 public:
  Job(const std::vector<std::string>& words, fs::path folder)
      : words_(words), folder_(std::move(folder)) {}

  int run() {
    if (fs::exists(folder_ / "job")) {
      id_ = trimmed_end(read_text(folder_ / "job"));
      std::cerr << "This command is job " << id_ << " already"
                << (fs::exists(folder_ / "exit")
                        ? ", which has ended: it does not know what you changed since"
                        : "")
                << ".\n";
    } else {
      submit();
    }
    // Looks at the queue after which a job without a result is lost: its last files may need a
    // moment to appear on a network disk.
    constexpr int kPatience = 15;
    for (int missing = 0; missing <= kPatience; wait_a_second()) {
      const auto queue = slurm_queue();
      // Read after the queue: a job that left it has written all.
      show_output();
      if (fs::exists(folder_ / "exit")) return end();
      if (!queue) {  // the controller starts anew, or the network is away
        progress_.show("waiting for Slurm, which does not answer: the job goes on");
      } else if (const auto own = queue->find(id_); own != queue->end()) {
        missing = 0;
        progress_.show("waiting for job " + id_ + ": " + own->second.words);
      } else {
        ++missing;
      }
      if (stop_asked != 0) {
        progress_.clear();
        std::cerr << "Job " << id_ << " goes on; the same command finds it again. To end it: "
                  << "scancel " << id_ << "\n";
        return static_cast<int>(ExitCode::kInterrupted);
      }
    }
    const fs::path log = folder_ / "slurm.log";
    const std::string words = fs::exists(log) ? printable_line(trimmed_end(read_text(log))) : "";
    fs::remove_all(folder_);
    throw EnvironmentError("Slurm ended job " + id_ + " without a result" +
                           (words.empty() ? "" : " (" + words + ")") +
                           "; the same command submits it again, SBATCH_TIMELIMIT gives it more "
                           "time.");
  }

 private:
  void submit() {
    fs::remove_all(folder_);
    // Every word is an argument of the script, so that no shell reads it.
    write_atomically(folder_ / "job.sh",
                     "#!/bin/sh\n"
                     "folder=$1\nshift\n"
                     "\"$@\" >\"$folder/output\" 2>&1\n"
                     "echo $? >\"$folder/exit.new\"\nmv \"$folder/exit.new\" \"$folder/exit\"\n");
    std::vector<std::string> words = {"--no-requeue", "--job-name=convlab",
                                      "--chdir=" + fs::current_path().string(),
                                      "--output=" + (folder_ / "slurm.log").string()};
    if (std::getenv("SBATCH_GRES") == nullptr) words.emplace_back("--gres=gpu:1");
    words.push_back((folder_ / "job.sh").string());
    words.push_back(folder_.string());
    words.insert(words.end(), words_.begin(), words_.end());
    id_ = submit_to_slurm(words);
    write_atomically(folder_ / "job", id_ + "\n");
    std::cerr << "Submitted as job " << id_ << "; Ctrl-C leaves it in the queue.\n";
  }

  // What the command has printed since the last look.
  void show_output() {
    std::ifstream file(folder_ / "output");
    if (!file.seekg(shown_)) return;
    std::array<char, 4096> piece{};
    while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
      progress_.clear();
      std::cout.write(piece.data(), file.gcount());
      shown_ += file.gcount();
    }
    std::cout << std::flush;
  }

  int end() {
    show_output();
    const std::string text = trimmed_end(read_text(folder_ / "exit"));
    fs::remove_all(folder_);
    return std::atoi(text.c_str());
  }

  const std::vector<std::string>& words_;
  fs::path folder_;
  std::string id_;
  ProgressLine progress_;
  std::streamoff shown_ = 0;
};

}  // namespace

std::optional<std::map<std::string, QueuedJob>> slurm_queue() {
  // Waiting jobs of all users, the next one first.
  const FinishedProcess waiting = ask_slurm(
      {"squeue", "--states=PENDING", "--noheader", "--array", "--sort=-p,i", "--format=%i %P"});
  const FinishedProcess run =
      ask_slurm({"squeue", "--me", "--noheader", "--array", "--format=%i %T %S %r"});
  if (!run.succeeded()) return std::nullopt;
  std::map<std::string, int> before;
  std::map<std::string, int> of_partition;
  std::istringstream all(waiting.output);
  for (std::string id, partition; all >> id >> partition;) before[id] = of_partition[partition]++;
  std::map<std::string, QueuedJob> jobs;
  std::istringstream lines(run.output);
  for (std::string id, state, start, reason;
       lines >> id >> state >> start && std::getline(lines >> std::ws, reason);) {
    QueuedJob& job = jobs[id];
    job.waits = state == "PENDING";
    job.before = before.contains(id) ? before[id] : 0;
    job.words = !job.waits        ? state
                : job.before == 0 ? "the next one"
                                  : count_of(job.before, "job") + " before it";
    if (job.waits) job.words += " (" + trimmed_end(reason) + ")" + wait_text(start);
  }
  return jobs;
}

void wait_a_second() {
  for (int i = 0; i < 10 && stop_asked == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::string submit_to_slurm(std::vector<std::string> words) {
  words.insert(words.begin(), {"sbatch", "--parsable"});
  const FinishedProcess run = ask_slurm(words);
  if (!run.succeeded()) {
    throw EnvironmentError("sbatch refuses: " + printable_line(trimmed_end(run.errors)) +
                           ". SBATCH_PARTITION, SBATCH_ACCOUNT and SBATCH_GRES say what a job asks "
                           "for.");
  }
  return run.output.substr(0, run.output.find_first_of(";\n"));  // "17;cluster"
}

ExitCode run_as_slurm_job(const std::vector<std::string>& words) {
  stop_on_signals();
  std::string all;
  for (const std::string& word : words) all += word + '\0';
  const std::string name = std::to_string(std::hash<std::string>()(all));
  const fs::path folder = fs::absolute(build_folder()) / "slurm" / name;
  return static_cast<ExitCode>(Job(words, folder).run());
}

std::vector<std::string> own_words() {
  std::vector<std::string> words;
  std::istringstream line(read_text("/proc/self/cmdline"));
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  words.front() = fs::read_symlink("/proc/self/exe").string();
  return words;
}

std::vector<std::string> own_words_without_launcher() {
  std::vector<std::string> words = own_words();
  std::erase(words, "--launcher=slurm");
  const auto option = std::ranges::find(words, "--launcher");
  if (option != words.end()) words.erase(option, option + 2);
  return words;
}

}  // namespace convlab::grader
