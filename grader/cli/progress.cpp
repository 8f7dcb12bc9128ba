#include "grader/cli/progress.hpp"

#include <algorithm>

#include "common/error/enum_name.hpp"
#include "common/error/error.hpp"
#include "grader/cli/handout.hpp"
#include "grader/cli/sources.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

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

}  // namespace

const char* to_string(State state) {
  return enum_name(state, {"as handed out", "not checked yet", "passed", "not passed"});
}

bool is_whole(const Progress& progress) {
  constexpr int kWholeBatch = 1000;
  return progress.state == State::kPassed &&
         std::any_of(progress.batches.begin(), progress.batches.end(),
                     [](int batch) { return batch >= kWholeBatch; });
}

Chapter chapter_of(const CourseMilestone& milestone, const std::string& solution) {
  std::vector<CheckResult> results = earlier_results();
  std::erase_if(results, [&](const CheckResult& each) {
    return each.result.milestone != milestone.id || each.result.solution != solution;
  });
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
      progress.check = result;
    }
    if (is_students && is_untouched(stage_files(milestone), stage.id)) {
      progress = {.stage = stage, .state = State::kHandedOut};
    }
    chapter.stages.push_back(std::move(progress));
  }
  return chapter;
}

}  // namespace convlab::grader
