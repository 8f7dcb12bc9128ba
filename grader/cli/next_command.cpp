#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "grader/cli/commands.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/way.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::next_command {

namespace {

struct Options {};

// "puzzles 2 of 3, stages 1 of 1, questions 0 of 6".
std::string counts_text(const MilestoneWay& way) {
  const auto is_done = [](const Step& step) {
    return step.done || step.kind == Step::Kind::kRepair;
  };
  if (std::ranges::all_of(way.steps, is_done)) return coloured("done", Colour::kGood);
  std::string text;
  for (const auto& [kind, name] : {std::pair{Step::Kind::kPuzzle, "puzzles"},
                                   {Step::Kind::kPrediction, "predictions"},
                                   {Step::Kind::kStage, "stages"},
                                   {Step::Kind::kExplain, "explained"},
                                   {Step::Kind::kRepair, "practice"},
                                   {Step::Kind::kQuestion, "questions"}}) {
    std::set<std::string> done;
    std::set<std::string> all;
    for (const Step& step : way.steps) {
      if (step.kind != kind) continue;
      all.insert(step.name);
      // Puzzles that are no longer asked for are not solved.
      if (step.done && kind != Step::Kind::kPuzzle) done.insert(step.name);
    }
    if (kind == Step::Kind::kPuzzle) {
      // The way leads only to those before its stages.
      for (const Puzzle& puzzle : puzzles_of(way.milestone)) all.insert(puzzle.stage);
      for (const auto& [puzzle, hash] : known_solved(way.milestone)) done.insert(puzzle);
    }
    if (all.empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(done.size()) +
            " of " + std::to_string(all.size());
  }
  return text;
}

ExitCode run(const Options&) {
  const std::vector<MilestoneWay> way = way_through();
  for (const MilestoneWay& milestone : way) {
    std::cout << coloured(milestone.milestone.id, Colour::kStrong) << "  "
              << milestone.milestone.title << "\n"
              << paragraph("    ", counts_text(milestone));
  }
  std::cout << "\n";
  const auto step = next_step(way);
  if (!step) {
    std::cout << paragraph("", "You have come to the end: every milestone is done. " +
                                   coloured("Congratulations!", Colour::kGood) +
                                   " What is left: a report of each (build/bin/grader report m4), "
                                   "and the archives (build/bin/grader submit m4).");
    return ExitCode::kPassed;
  }
  std::cout << lead_text(*step);
  const auto work = next_step(way, true);
  if (work && work->kind != step->kind && work->command != step->command) {
    std::cout << paragraph("Or go on with ", work->what) << "        " << work->command << "\n";
  }
  if (const auto practice = next_practice(way, (work ? *work : *step).milestone)) {
    std::cout << paragraph("", "For practice, without points: " + practice->what) << "        "
              << practice->command << "\n";
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "next", "Says what is done and what to do now", run);
  command.footer(
      "Leads from the puzzles to the exercise, to a look at your kernel and to the\n"
      "chapter's questions, milestone by milestone.\n\n"
      "Example:\n  build/bin/grader next");
}

}  // namespace convlab::grader::next_command
