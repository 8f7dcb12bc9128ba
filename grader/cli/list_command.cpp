#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <vector>

#include "common/milestone/result.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/integrity/submission.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

/// Every result that checks left in their usual folder, oldest first.
std::vector<Result> earlier_results() {
  std::vector<Result> results;
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(results_folder(), no_folder)) {
    if (entry.path().extension() != ".json") continue;
    try {
      results.push_back(read_result(entry.path()));
    } catch (const EnvironmentError&) {
      continue;  // some other file; nobody asked for it by name
    }
  }
  std::sort(results.begin(), results.end(),
            [](const Result& a, const Result& b) { return a.created < b.created; });
  return results;
}

// "passed at batch 100, 1000  2026-11-20", of a stage in one check; empty if it was not part of it.
std::string outcome(const Result& result, const StageInfo& stage) {
  std::string batches;
  bool ran = false;
  bool passed = true;
  for (const CaseResult& test : result.cases) {
    if (test.stage != stage.id) continue;
    ran = true;
    passed = passed && test.verdict == Verdict::kPassed;
  }
  for (const RunResult& run : result.runs) {
    if (run.stage.id != stage.id) continue;
    passed = passed && run.verdict == Verdict::kPassed;
    batches += (batches.empty() ? " at batch " : ", ") + std::to_string(run.batch);
  }
  if (!ran) return {};
  constexpr std::size_t kDate = 10;  // of 2026-11-20T23:40:00Z
  return (passed ? coloured("passed", Colour::kGood) + batches
                 : coloured("not passed", Colour::kBad)) +
         coloured("  " + result.created.substr(0, kDate), Colour::kQuiet);
}

void list_solution(const CourseMilestone& milestone, const std::string& solution,
                   const std::vector<Result>& results) {
  const auto program = program_of(milestone.id, solution);
  if (!std::filesystem::exists(program)) {
    // A hand-out has no reference solutions; that is no news to a student.
    if (solution == "student") std::cout << "  not built: cmake --build --preset lab\n";
    return;
  }
  Submission submission(program);
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages)) {
    std::cout << "  " << display_path(program) << " does not answer; build it again\n";
    return;
  }
  for (const StageInfo& stage : stages) {
    std::string last = coloured("not checked yet", Colour::kQuiet);
    for (const Result& result : results) {
      if (result.milestone != milestone.id || result.solution != solution) continue;
      if (const std::string text = outcome(result, stage); !text.empty()) last = text;
    }
    constexpr int kSolutionWidth = 11;
    constexpr int kStageWidth = 16;
    std::cout << "  " << left(solution, kSolutionWidth) << left(stage.id, kStageWidth)
              << stage.title << "\n"
              << left("", 2 + kSolutionWidth + kStageWidth) << last << "\n";
  }
}

ExitCode run() {
  const std::vector<Result> results = earlier_results();
  for (const CourseMilestone& milestone : milestones()) {
    std::cout << coloured(milestone.id, Colour::kStrong) << "  " << milestone.title << "\n";
    for (const char* solution : {"student", "reference"}) {
      list_solution(milestone, solution, results);
    }
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_list(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command =
      app.add_subcommand("list", "Lists milestones and stages, and how they last did");
  command->callback([&exit_code] { exit_code = run(); });
}

}  // namespace convlab::grader
