#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/json_text.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::list_command {

namespace {

struct Options {
  bool json = false;
};

std::string joined(const std::vector<int>& batches) {
  std::string text;
  for (const int batch : batches) text += (text.empty() ? "" : ", ") + std::to_string(batch);
  return text;
}

std::string state_text(const Progress& progress) {
  std::string text = to_string(progress.state);
  if (progress.state == State::kHandedOut || progress.state == State::kUnchecked) {
    return coloured(text, Colour::kQuiet);
  }
  const bool passed = progress.state == State::kPassed;
  text = coloured(text, passed ? Colour::kGood : Colour::kBad);
  if (!progress.finding.empty()) text += " (" + progress.finding + ")";
  if (passed && !progress.batches.empty()) text += " at batch " + joined(progress.batches);
  text += coloured("  " + progress.date, Colour::kQuiet);
  if (progress.changed) text += "  changed since";
  return text;
}

void print(const std::vector<Chapter>& chapters) {
  constexpr int kStageWidth = 27;
  int passed = 0;
  int tried = 0;
  int all = 0;
  for (const Chapter& chapter : chapters) {
    std::cout << coloured(chapter.milestone.id, Colour::kStrong) << "  " << chapter.milestone.title
              << "\n";
    for (const Progress& progress : chapter.stages) {
      const std::string& title = progress.stage.title;
      std::cout << "    " << left(progress.stage.id, title.empty() ? 0 : kStageWidth) << title
                << "\n"
                << left("", 4 + kStageWidth) << state_text(progress) << "\n";
      ++all;
      if (progress.state != State::kPassed || progress.changed) continue;
      ++(is_whole(progress) ? passed : tried);
    }
  }
  constexpr int kBarWidth = 30;
  const int full = all == 0 ? 0 : passed * kBarWidth / all;
  std::cout << "\n[" << std::string(static_cast<std::size_t>(full), '#')
            << std::string(static_cast<std::size_t>(kBarWidth - full), '.') << "]  " << passed
            << " of " << all << " stages passed\n";
  if (tried > 0) {
    std::cout << paragraph("", std::to_string(tried) +
                                   (tried == 1 ? " more passes" : " more pass") +
                                   " at small batches only; a whole check takes 1000 images or "
                                   "more.");
  }
}

Json to_json(const std::vector<Chapter>& chapters) {
  auto milestones = Json::array();
  for (const Chapter& chapter : chapters) {
    auto stages = Json::array();
    for (const Progress& progress : chapter.stages) {
      stages.push_back({{"stage", progress.stage.id},
                        {"title", progress.stage.title},
                        {"state", to_string(progress.state)},
                        {"batches", progress.batches},
                        {"date", progress.date},
                        {"finding", progress.finding},
                        {"changed", progress.changed}});
    }
    milestones.push_back({{"milestone", chapter.milestone.id},
                          {"title", chapter.milestone.title},
                          {"stages", stages}});
  }
  return milestones;
}

ExitCode run(const Options& options) {
  std::vector<Chapter> chapters;
  for (const CourseMilestone& milestone : milestones()) {
    chapters.push_back(chapter_of(milestone));
  }
  if (options.json) {
    std::cout << json_text(to_json(chapters), 2) << "\n";
  } else {
    print(chapters);
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "list", "Lists milestones and stages, and how far you are", run);
  command.add_flag("--json", options.json, "Print JSON instead of text");
  command.footer("Example:\n  build/bin/grader list");
}

}  // namespace convlab::grader::list_command
