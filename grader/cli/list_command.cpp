#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/error/enum_name.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/cli/handout.hpp"
#include "grader/cli/print_json.hpp"
#include "grader/cli/sources.hpp"
#include "grader/report/terminal.hpp"
#include "grader/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

struct Options {
  bool reference = false;
  bool json = false;
};

enum class State { kHandedOut, kUnchecked, kPassed, kFailed };

/// How far a stage is.
struct Progress {
  StageInfo stage{};
  State state = State::kUnchecked;
  std::vector<int> batches{};  ///< that it passed
  std::string date{};          ///< of the check
  std::string finding{};       ///< what the check found
  bool changed = false;        ///< since that check
};

/// One milestone; without stages, `problem` says why.
struct Chapter {
  CourseMilestone milestone{};
  std::vector<Progress> stages{};
  std::string problem{};
};

/// Every result that checks left in their usual folder, oldest first.
std::vector<CheckResult> earlier_results() {
  std::vector<CheckResult> results;
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(results_folder(), no_folder)) {
    if (entry.path().extension() != ".json") continue;
    try {
      results.push_back(read_check_result(entry.path()));
    } catch (const EnvironmentError&) {
      continue;  // some other file; nobody asked for it by name
    }
  }
  std::stable_sort(results.begin(), results.end(), [](const CheckResult& a, const CheckResult& b) {
    return a.result.created < b.result.created;
  });
  return results;
}

std::string date_of(const CheckResult& result) {
  constexpr std::size_t kDate = 10;  // of 2026-11-20T23:40:00Z
  return result.result.created.substr(0, kDate);
}

// What ended a check before any stage ran, "E-build" above all; empty if nothing did.
std::string finding_before_stages(const CheckResult& result) {
  for (const Finding& finding : result.findings) {
    if (finding.stage.empty()) return finding.id;
  }
  return {};
}

// Takes over what a check says about the stage; false if it was no part of it.
bool take_over(const CheckResult& result, Progress& progress) {
  std::string found = finding_before_stages(result);
  bool ran = !found.empty();
  bool passed = true;
  std::vector<int> batches;
  for (const CaseResult& test : result.cases) {
    if (test.stage != progress.stage.id) continue;
    ran = true;
    passed = passed && test.verdict == Verdict::kPassed;
  }
  for (const RunResult& run : result.result.runs) {
    if (run.stage.id != progress.stage.id) continue;
    if (run.verdict == Verdict::kPassed) batches.push_back(run.batch);
    passed = passed && run.verdict == Verdict::kPassed;
  }
  if (!ran) return false;
  for (const Finding& finding : result.findings) {
    if (finding.stage == progress.stage.id) found = finding.id;
  }
  progress.state = passed && found.empty() ? State::kPassed : State::kFailed;
  progress.batches = std::move(batches);
  progress.date = date_of(result);
  progress.finding = std::move(found);
  return true;
}

// Where a milestone has several files, a stage is in the one that has its name.
bool is_untouched(const std::vector<HandoutFile>& files, const std::string& stage) {
  const auto is_of_stage = [&](const HandoutFile& file) {
    std::string stem = std::filesystem::path(file.path).stem().string();
    std::replace(stem.begin(), stem.end(), '_', '-');
    return files.size() == 1 || stem == stage;
  };
  const auto file = std::find_if(files.begin(), files.end(), is_of_stage);
  return file != files.end() && is_as_handed_out(*file);
}

bool is_puzzle(const std::string& path) {
  return path.find("/puzzles/") != std::string::npos;
}

std::vector<HandoutFile> stage_files(const CourseMilestone& milestone) {
  std::vector<HandoutFile> files = handout_files(milestone);
  std::erase_if(files, [](const HandoutFile& file) { return is_puzzle(file.path); });
  return files;
}

// Whether a file of the stage has changed since a check. Where each stage has a file that bears its
// name, the other stages' files do not matter.
bool has_changed(const std::vector<SourceFile>& then, const std::vector<SourceFile>& now,
                 const std::vector<StageInfo>& stages, const StageInfo& stage) {
  const auto stage_of = [](const SourceFile& file) {
    std::string stem = std::filesystem::path(file.path).stem().string();
    std::replace(stem.begin(), stem.end(), '_', '-');
    return stem;
  };
  const auto matters = [&](const SourceFile& file) {
    if (is_puzzle(file.path)) return false;
    const std::string id = stage_of(file);
    return id == stage.id || std::none_of(stages.begin(), stages.end(),
                                          [&](const StageInfo& each) { return each.id == id; });
  };
  const auto chosen = [&](std::vector<SourceFile> files) {
    std::erase_if(files, [&](const SourceFile& file) { return !matters(file); });
    return files;
  };
  return chosen(then) != chosen(now);
}

// Why a milestone has no program.
std::string missing_program(const std::vector<CheckResult>& results) {
  if (results.empty() || finding_before_stages(results.back()).empty()) {
    return "not built: cmake --build --preset lab";
  }
  return "not built: the last check (" + date_of(results.back()) + ") found " +
         finding_before_stages(results.back());
}

// `results` are those of this milestone and solution.
Chapter chapter_of(const CourseMilestone& milestone, const std::string& solution,
                   const std::vector<CheckResult>& results) {
  Chapter chapter{.milestone = milestone};
  const auto program = program_of(milestone.id, solution);
  if (!std::filesystem::exists(program)) {
    chapter.problem =
        solution == "student" ? missing_program(results) : "no reference solution here";
    return chapter;
  }
  Submission submission(program);
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages)) {
    chapter.problem = display_path(program) + " does not answer; build it again";
    return chapter;
  }
  const auto sources = describe_files(source_files(milestone));
  const bool is_students = solution == "student";
  for (const StageInfo& stage : stages) {
    Progress progress{.stage = stage};
    for (const CheckResult& result : results) {
      if (!take_over(result, progress)) continue;
      progress.changed = is_students && has_changed(result.sources, sources, stages, stage);
    }
    if (is_students && is_untouched(stage_files(milestone), stage.id)) {
      progress = {.stage = stage, .state = State::kHandedOut};
    }
    chapter.stages.push_back(std::move(progress));
  }
  return chapter;
}

std::string joined(const std::vector<int>& batches) {
  std::string text;
  for (const int batch : batches) text += (text.empty() ? "" : ", ") + std::to_string(batch);
  return text;
}

const char* to_string(State state) {
  return enum_name(state, {"as handed out", "not checked yet", "passed", "not passed"});
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
  constexpr int kStageWidth = 20;
  constexpr int kWholeBatch = 1000;
  int passed = 0;
  int tried = 0;
  int all = 0;
  for (const Chapter& chapter : chapters) {
    std::cout << coloured(chapter.milestone.id, Colour::kStrong) << "  " << chapter.milestone.title
              << "\n";
    if (!chapter.problem.empty()) std::cout << paragraph("    ", chapter.problem);
    for (const Progress& progress : chapter.stages) {
      std::cout << "    " << left(progress.stage.id, kStageWidth) << progress.stage.title << "\n"
                << left("", 4 + kStageWidth) << state_text(progress) << "\n";
      ++all;
      if (progress.state != State::kPassed || progress.changed) continue;
      // A stage that was tried with few images only is not done.
      const bool whole = std::any_of(progress.batches.begin(), progress.batches.end(),
                                     [](int batch) { return batch >= kWholeBatch; });
      ++(whole ? passed : tried);
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

nlohmann::ordered_json to_json(const std::vector<Chapter>& chapters) {
  auto milestones = nlohmann::ordered_json::array();
  for (const Chapter& chapter : chapters) {
    auto stages = nlohmann::ordered_json::array();
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
                          {"problem", chapter.problem},
                          {"stages", stages}});
  }
  return milestones;
}

ExitCode run(const Options& options) {
  const std::vector<CheckResult> results = earlier_results();
  const std::string solution = options.reference ? "reference" : "student";
  std::vector<Chapter> chapters;
  for (const CourseMilestone& milestone : milestones()) {
    std::vector<CheckResult> own;
    std::copy_if(results.begin(), results.end(), std::back_inserter(own),
                 [&](const CheckResult& each) {
                   return each.result.milestone == milestone.id && each.result.solution == solution;
                 });
    chapters.push_back(chapter_of(milestone, solution, own));
  }
  if (options.json) {
    print_json(to_json(chapters));
  } else {
    print(chapters);
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_list(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("list", "Lists milestones and stages, and how far you are");
  command->add_flag("--reference", options->reference,
                    "List the stages of the reference solutions");
  command->add_flag("--json", options->json, "Print JSON instead of text");
  command->footer("Example:\n  build/bin/grader list");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace convlab::grader
