#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/grade.hpp"
#include "grader/scores/points.hpp"

namespace convlab::grader::lint_command {

namespace {

constexpr int kBatch = 4;  // images that the reference stages classify

struct Options {
  std::string milestone;
  bool skip_references = false;
  bool update = false;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_optional(const HandoutFile& file) {
  return contains(read_text(course_folder() / file.path), "StageLeftOut");
}

std::vector<std::string> manifest_problems(const CourseMilestone& milestone) {
  std::vector<std::string> problems;
  std::set<std::string> known;
  for (const HandoutFile& file : handout_files(milestone)) {
    known.insert(file.path);
    if (!is_as_handed_out(file)) {
      problems.push_back(file.path +
                         " is not as milestones/handout.sha256 says; if it should be, "
                         "build/bin/grader lint --update renews that file.");
    }
  }
  for (const auto& file : source_files(milestone)) {
    const std::string path = file.lexically_relative(course_folder()).generic_string();
    if (!known.contains(path)) problems.push_back(path + " is not in milestones/handout.sha256.");
  }
  return problems;
}

std::set<std::string> stages_of(const CheckResult& result) {
  std::set<std::string> stages;
  for (const CaseResult& test : result.cases) stages.insert(test.stage);
  return stages;
}

// Every stage must give E-not-implemented, which names its file.
std::vector<std::string> handout_problems(const CourseMilestone& milestone, ProgressLine& progress,
                                          std::set<std::string>& stages) {
  const CheckResult result =
      grade({.milestone = milestone.id,
             .work = {.program = program_of(milestone.id, "student")},
             .batches = {1}},
            {.announce = [&](const std::string& what) { progress.show(what); }});
  stages = stages_of(result);
  std::vector<std::string> problems;
  std::string seen;
  for (const Finding& finding : result.findings) {
    seen += finding.seen;
    if (finding.id == "E-not-implemented") continue;
    problems.push_back("Stage '" + finding.stage + "' gives " + finding.id +
                       " instead of E-not-implemented: " + finding.seen);
  }
  if (result.findings.size() != std::max<std::size_t>(1, stages.size())) {
    problems.push_back("A stage passes as it is handed out.");
  }
  for (const HandoutFile& file : handout_files(milestone)) {
    // A program lacks stages whose library is missing.
    if (is_puzzle(file.path) || is_optional(file)) continue;
    if (!contains(seen, file.path)) problems.push_back("No finding names " + file.path + ".");
  }
  return problems;
}

std::vector<std::string> reference_problems(const CourseMilestone& milestone,
                                            ProgressLine& progress, std::set<std::string>& stages) {
  const CheckResult result =
      grade({.milestone = milestone.id,
             .solution = "reference",
             .work = {.program = program_of(milestone.id, "reference")},
             .batches = {kBatch}},
            {.announce = [&](const std::string& what) { progress.show(what); }});
  stages = stages_of(result);
  std::vector<std::string> problems;
  for (const Finding& finding : result.findings) {
    problems.push_back("Stage '" + finding.stage + "': " + finding.id + ", " + finding.seen);
  }
  if (result.result.runs.size() != stages.size())
    problems.push_back("A stage did not reach the network.");
  return problems;
}

// `references` is empty where they were not run.
std::vector<std::string> score_problems(const CourseMilestone& milestone,
                                        const std::set<std::string>& stages,
                                        const std::set<std::string>& references) {
  const ScoreRules rules = load_score_rules(milestone.folder);
  std::set<std::string> scored;
  std::vector<std::string> problems;
  for (const ScoreRule& rule : rules.items) {
    scored.insert(rule.stage);
    const bool is_left_out = !stages.contains(rule.stage);
    if (rule.what == ScoreRule::What::kSpeed && !references.empty() && !is_left_out &&
        !references.contains(rule.reference)) {
      problems.push_back("scores.json compares with the reference's stage '" + rule.reference +
                         "', which does not exist.");
    }
  }
  for (const std::string& stage : stages) {
    if (!scored.contains(stage)) problems.push_back("scores.json has no points for " + stage + ".");
  }
  for (const std::string& stage : scored) {
    if (stages.contains(stage) || file_of_stage(milestone.folder, stage)) continue;
    problems.push_back("scores.json has points for " + stage + ", which has no file.");
  }
  return problems;
}

// False if something is missing.
bool lint(const CourseMilestone& milestone, const Options& options) {
  ProgressLine progress;
  bool is_good = true;
  const auto examined = [&](const std::string& what, const auto& examine) {
    std::vector<std::string> problems;
    try {
      problems = examine();
    } catch (const Error& error) {
      problems = {error.what()};
    }
    progress.clear();
    is_good = is_good && problems.empty();
    std::cout << (problems.empty() ? coloured("ok    ", Colour::kGood)
                                   : coloured("WRONG ", Colour::kBad))
              << milestone.id << "  " << what << "\n";
    for (const std::string& problem : problems) std::cout << paragraph("        → ", problem);
    std::cout << std::flush;
  };
  std::set<std::string> stages;
  std::set<std::string> references;
  const bool has_reference =
      std::filesystem::exists(program_of(milestone.id, "reference")) && !options.skip_references;
  examined("exercises as in milestones/handout.sha256",
           [&] { return manifest_problems(milestone); });
  examined("exercises compile and fail politely",
           [&] { return handout_problems(milestone, progress, stages); });
  if (has_reference) {
    examined("reference passes every case and batch " + std::to_string(kBatch),
             [&] { return reference_problems(milestone, progress, references); });
  }
  examined("points", [&] { return score_problems(milestone, stages, references); });
  return is_good;
}

void update_manifest() {
  std::vector<std::filesystem::path> files;
  for (const CourseMilestone& milestone : milestones()) {
    for (const auto& file : source_files(milestone)) files.push_back(file);
  }
  std::string text;
  for (const SourceFile& file : describe_files(files)) {
    text.append(file.sha256).append("  ").append(file.path).append(1, '\n');
  }
  write_atomically(course_folder() / "milestones" / "handout.sha256", text);
}

ExitCode run(const Options& options) {
  if (!options.milestone.empty()) find_milestone(options.milestone);  // throws if there is none
  if (options.update) update_manifest();
  bool good = true;
  for (const CourseMilestone& milestone : milestones()) {
    if (!options.milestone.empty() && milestone.id != options.milestone) continue;
    good &= lint(milestone, options);
  }
  std::cout << (good ? "The course is complete.\n" : "Fix what is marked WRONG.\n");
  return good ? ExitCode::kPassed : ExitCode::kFallsShort;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(app, exit_code, "lint", run);
  command.add_option("MILESTONE", options.milestone);
  command.add_flag("--no-references", options.skip_references);
  command.add_flag("--update", options.update);
}

}  // namespace convlab::grader::lint_command
