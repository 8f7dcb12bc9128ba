#include <CLI/CLI.hpp>
#include <iostream>

#include "common/milestone/result.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/integrity/submission.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// "passed at batches 100, 1000 (2026-11-20)", of one stage in the last check.
std::string last_result(const std::optional<Result>& result, const StageInfo& stage) {
  if (!result) return coloured("not checked yet", Colour::kQuiet);
  std::string batches;
  bool ran = false;
  bool passed = true;
  for (const CaseResult& test : result->cases) {
    if (test.stage != stage.id) continue;
    ran = true;
    passed = passed && test.verdict == Verdict::kPassed;
  }
  for (const RunResult& run : result->runs) {
    if (run.stage.id != stage.id) continue;
    passed = passed && run.verdict == Verdict::kPassed;
    batches += (batches.empty() ? " at batch " : ", ") + std::to_string(run.batch);
  }
  if (!ran) return coloured("not checked yet", Colour::kQuiet);
  constexpr std::size_t kDate = 10;  // of 2026-11-20T23:40:00Z
  return (passed ? coloured("passed", Colour::kGood) + batches
                 : coloured("not passed", Colour::kBad)) +
         coloured("  " + result->created.substr(0, kDate), Colour::kQuiet);
}

std::optional<Result> last_check(const std::string& milestone, const std::string& solution) {
  const auto file = result_file(milestone, solution);
  if (!std::filesystem::exists(file)) return std::nullopt;
  return read_result(file);
}

void list_solution(const CourseMilestone& milestone, const std::string& solution) {
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
  const std::optional<Result> result = last_check(milestone.id, solution);
  for (const StageInfo& stage : stages) {
    constexpr int kStageWidth = 18;
    constexpr int kTitleWidth = 34;
    std::cout << "  " << left(solution, 10) << left(stage.id, kStageWidth)
              << left(stage.title, kTitleWidth) << "\n      " << last_result(result, stage) << "\n";
  }
}

ExitCode run() {
  for (const CourseMilestone& milestone : milestones()) {
    std::cout << coloured(milestone.id, Colour::kStrong) << "  " << milestone.title << "\n";
    for (const char* solution : {"student", "reference"}) list_solution(milestone, solution);
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
