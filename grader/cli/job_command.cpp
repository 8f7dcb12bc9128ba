#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/course/stop_signals.hpp"
#include "grader/measure/measure_speed.hpp"

namespace convlab::grader::job_command {

namespace {

struct Options {};

// Before the words of the program, when the job runs.
constexpr const char* kInJob = "--when-the-gpu-is-quiet";

ExitCode run(const Options& /*options*/) {
  std::vector<std::string> words = own_words();
  const std::string self = words.front();
  words.erase(words.begin(), std::find(words.begin(), words.end(), "job") + 1);
  const bool is_job = !words.empty() && words.front() == kInJob;
  if (is_job) words.erase(words.begin());
  if (words.empty()) throw UsageError("Name the program: grader job build/bin/m4 1000 --all");
  if (!is_job) {
    words.insert(words.begin(), {self, "job", kInJob});
    return run_as_slurm_job(words);
  }
  wait_for_quiet_gpu([](const std::string& text) { std::cout << text << std::endl; });
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  throw EnvironmentError(words.front() + " cannot be started: " + std::strerror(errno) + ".");
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "job", "Runs the COMMAND behind it as a Slurm job", run);
  command.prefix_command();  // what follows is the program's, options too
  command.footer(
      "Shows the place in the queue, then what the program prints. Ctrl-C leaves the\n"
      "job; the same command finds it again. check, profile, sweep and the milestones'\n"
      "own programs (build/bin/m4) do the same with --launcher slurm.\n\n"
      "Examples:\n"
      "  build/bin/grader job build/bin/m4 10000 --all\n"
      "  SBATCH_PARTITION=gpu build/bin/grader job build/bin/m3 1000");
}

}  // namespace convlab::grader::job_command
