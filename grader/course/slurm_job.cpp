#include "grader/course/slurm_job.hpp"

#include <unistd.h>

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

#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"
#include "grader/course/course.hpp"

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
    while (true) {
      const bool is_queued = show_state();
      // Read after the queue: a job that left it has written all.
      show_output();
      if (fs::exists(folder_ / "exit")) return end();
      if (!is_queued && ++missing_ > kPatience) lost();
      for (int i = 0; i < 10 && stop_asked == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      if (stop_asked != 0) {
        say("");
        std::cerr << "Job " << id_ << " goes on; the same command finds it again. To end it: "
                  << "scancel " << id_ << "\n";
        return static_cast<int>(ExitCode::kInterrupted);
      }
    }
  }

 private:
  // Looks at the queue after which a job without a result is lost: its last files may need a moment
  // to appear on a network disk.
  static constexpr int kPatience = 15;

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

  // False if the queue does not have it.
  bool show_state() {
    const FinishedProcess run =
        ask_slurm({"squeue", "--me", "--noheader", "--format=%i|%T|%r|%S|%P"});
    if (!run.succeeded()) {  // the controller starts anew, or the network is away
      say("Slurm does not answer; the job goes on");
      return true;
    }
    std::istringstream lines(run.output);
    std::string line;
    while (std::getline(lines, line) && !line.starts_with(id_ + "|")) {
    }
    std::istringstream fields(lines ? line.substr(id_.size() + 1) : "");
    std::string state;
    std::string reason;
    std::string start;
    std::string partition;
    std::getline(fields, state, '|');
    std::getline(fields, reason, '|');
    std::getline(fields, start, '|');
    std::getline(fields, partition);
    if (state.empty()) return false;
    missing_ = 0;
    if (state != "PENDING") {
      say(state == "RUNNING" ? "running" : "the job is " + state);
      return true;
    }
    std::string text = "waiting";
    if (const int before = jobs_before(trimmed_end(partition)); before >= 0) {
      text += before == 0 ? ", the next one"
                          : ", " + std::to_string(before) +
                                (before == 1 ? " job before it" : " jobs before it");
    }
    say(text + " (" + reason + ")" + wait_text(start));
    return true;
  }

  // Waiting jobs that Slurm will start earlier, as far as this user may see them; −1 if unknown.
  [[nodiscard]] int jobs_before(const std::string& partition) const {
    const FinishedProcess run =
        ask_slurm({"squeue", "--states=PENDING", "--noheader", "--array",
                   "--partition=" + partition, "--sort=-p,i", "--format=%i"});
    std::istringstream lines(run.output);
    int before = 0;
    for (std::string line; std::getline(lines, line); ++before) {
      if (trimmed_end(line) == id_) return before;
    }
    return -1;
  }

  // What the command has printed since the last look.
  void show_output() {
    std::ifstream file(folder_ / "output");
    if (!file.seekg(shown_)) return;
    std::array<char, 4096> piece{};
    while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
      say("");
      std::cout.write(piece.data(), file.gcount());
      shown_ += file.gcount();
    }
    std::cout << std::flush;
  }

  // One line on a terminal, rewritten; elsewhere a line for each change.
  void say(const std::string& text) {
    if (text == said_) return;
    said_ = text;
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    const std::string line = text.empty() ? "" : "job " + id_ + ": " + printable_line(text);
    if (terminal) {
      std::cerr << "\r\x1b[K" << line << std::flush;
    } else if (!line.empty()) {
      std::cerr << line << "\n";
    }
  }

  int end() {
    show_output();
    say("");
    const std::string text = trimmed_end(read_text(folder_ / "exit"));
    fs::remove_all(folder_);
    return std::atoi(text.c_str());
  }

  [[noreturn]] void lost() {
    say("");
    const fs::path log = folder_ / "slurm.log";
    const std::string words = fs::exists(log) ? printable_line(trimmed_end(read_text(log))) : "";
    fs::remove_all(folder_);
    throw EnvironmentError("Slurm ended job " + id_ + " without a result" +
                           (words.empty() ? "" : " (" + words + ")") +
                           "; the same command submits it again, SBATCH_TIMELIMIT gives it more "
                           "time.");
  }

  const std::vector<std::string>& words_;
  fs::path folder_;
  std::string id_;
  std::string said_;
  std::streamoff shown_ = 0;
  int missing_ = 0;
};

}  // namespace

FinishedProcess ask_slurm(std::vector<std::string> words) {
  constexpr std::chrono::seconds kAnswer{60};
  const std::string program = words.front();
  FinishedProcess run = run_process({.words = std::move(words), .time_limit = kAnswer});
  if (run.exit_code == kNoSuchProgram) {
    throw EnvironmentError("There is no " + program +
                           ": run this on a machine of the cluster where Slurm's commands are "
                           "(docs/setup.md shows how to do it over ssh).");
  }
  return run;
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

}  // namespace convlab::grader
