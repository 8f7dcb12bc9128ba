#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include "common/base/run_process.hpp"
#include "common/program/arguments.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/sources.hpp"
#include "grader/course/way.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::watch_command {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{200};

struct Options {
  std::string milestone;
  std::string stage;
  std::string batches = "100";
  int checks = 0;  // for tests: stop after this many
};

/// When each source was last written, and how long it is. This also notices editors that write a
/// new file and rename it. If the clock of a file system is too coarse, the size often differs.
using Snapshot =
    std::map<std::filesystem::path, std::pair<std::filesystem::file_time_type, std::uintmax_t>>;

Snapshot snapshot(const CourseMilestone& milestone) {
  Snapshot seen;
  for (const auto& file : source_files(milestone)) {
    std::error_code gone;
    const auto time = std::filesystem::last_write_time(file, gone);
    const auto size = gone ? 0 : std::filesystem::file_size(file, gone);
    if (!gone) seen[file] = {time, size};
  }
  return seen;
}

// Returns once the files differ from `old` and no longer change, or when asked to stop.
void wait_for_change(const CourseMilestone& milestone, const Snapshot& old) {
  Snapshot last = snapshot(milestone);
  while (stop_asked == 0) {
    std::this_thread::sleep_for(kLook);
    Snapshot now = snapshot(milestone);
    if (now != old && now == last) return;
    last = std::move(now);
  }
}

// Runs grader check as a separate process: Ctrl-C ends it at once, even while it compiles, and it
// may be a grader that was just rebuilt.
bool check(const CourseMilestone& milestone, const std::vector<std::string>& options) {
  std::vector<std::string> words = {(build_folder() / "bin" / "grader").string(), "check",
                                    milestone.id};
  words.insert(words.end(), options.begin(), options.end());
  constexpr std::chrono::hours kLimit{1};  // the check itself has limits far below
  const FinishedProcess run = run_process({.words = words,
                                           .output = Command::Output::kShown,
                                           .time_limit = kLimit,
                                           .interrupted = &stop_asked});
  return run.end == FinishedProcess::End::kExited && run.exit_code == 0;
}

void check_once(const CourseMilestone& milestone, const Options& options) {
  if (::isatty(STDOUT_FILENO) == 1) std::cout << "\033[2J\033[H";
  std::cout << "Building " << milestone.id << ", " << milestone.title << std::endl;
  std::vector<std::string> words;
  if (!options.batches.empty()) words = {"--no-speed", "--batches", options.batches};
  if (!options.stage.empty()) words.insert(words.end(), {"--stage", options.stage});
  const bool has_batches = !find_puzzle(milestone, options.stage);
  if (!check(milestone, words) || options.batches.empty() || !has_batches) return;
  std::cout << "Everything passes at batch " << options.batches
            << ". The whole check: " << grader_command("check", milestone.id, options.stage)
            << "\n";
}

// The stage of a milestone to work on: of the first step that no check has passed with these
// batches. Empty: the whole milestone, if it has one stage only or every step passes.
std::string stage_to_watch(const std::string& milestone) {
  std::vector<MilestoneWay> way = way_through();
  std::erase_if(way, [&](const MilestoneWay& each) { return each.milestone.id != milestone; });
  std::vector<Step>& steps = way.front().steps;
  for (Step& step : steps) step.done = step.done || step.tried;
  const std::optional<Step> step = next_step(way, true);
  const bool is_only_stage = std::ranges::count(steps, Step::Kind::kStage, &Step::kind) == 1;
  if (!step || (step->kind == Step::Kind::kStage && is_only_stage)) return {};
  return step->name;
}

ExitCode run(const Options& asked) {
  // Saving a file cannot correct these.
  if (!asked.milestone.empty()) {
    const CourseMilestone milestone = find_milestone(asked.milestone);
    if (!asked.stage.empty()) require_stage(milestone, asked.stage);
  }
  parse_batches(asked.batches);
  stop_on_signals();
  std::string last;
  Snapshot checked;
  for (int checks = 0; stop_asked == 0;) {
    Options options = asked;
    bool is_fresh = false;
    if (asked.milestone.empty()) {
      const std::vector<MilestoneWay> way = way_through();
      const std::optional<Step> step = next_step(way, true);
      if (!step) break;
      // Not while it can still be made: watch goes on, but says so.
      const std::optional<Step> first = next_step(way);
      if (first->kind == Step::Kind::kPrediction) std::cout << lead_text(*first);
      std::cout << lead_text(*step);
      options.milestone = step->milestone;
      // The only stage of a milestone needs no name.
      options.stage = step->command.find("--stage") == std::string::npos ? "" : step->name;
      if (step->tried) options.batches.clear();
      is_fresh = step->fresh;
    } else if (asked.stage.empty()) {
      options.stage = stage_to_watch(asked.milestone);
    }
    const CourseMilestone milestone = find_milestone(options.milestone);
    const std::string work = options.milestone + " " + options.stage + " " + options.batches;
    // Not after a check: a file may have been saved meanwhile.
    if (is_fresh || work != last) checked = snapshot(milestone);
    if (!is_fresh && work != last) {
      check_once(milestone, options);
      if (stop_asked != 0 || ++checks == asked.checks) break;
      // What comes next may be something else.
      last = work;
      if (asked.stage.empty()) continue;
    }
    std::cout << coloured("Watching " + display_path(milestone.folder) +
                              ": save to check again, Ctrl-C to end.",
                          Colour::kQuiet)
              << std::endl;
    wait_for_change(milestone, checked);
    last.clear();
  }
  if (stop_asked != 0) std::cout << "\nStopped watching.\n";
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(
      app, exit_code, "watch", "Builds and checks again whenever you save, until Ctrl-C", run);
  command.add_option("MILESTONE", options.milestone,
                     "m1, m2, … (default: what grader next says, step by step)");
  command.add_option("--stage", options.stage,
                     "Only this stage (default: the first that does not pass)");
  command.add_option("--batches", options.batches, "Batches of the network")->capture_default_str();
  command.add_option("--checks", options.checks)->group("");
  command.footer("Examples:\n  build/bin/grader watch\n  build/bin/grader watch m1");
}

}  // namespace convlab::grader::watch_command
