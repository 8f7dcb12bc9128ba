#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "common/base/address_sanitizer.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/judge/grade.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader::lint_command {

namespace {

std::string path_of(const std::filesystem::path& file) {
  return file.lexically_relative(course_folder()).generic_string();
}

// A stage of one's own: a file in `stages` with the name of a stage that gives no points.
bool is_private(const CourseMilestone& milestone, std::string stage) {
  std::ranges::replace(stage, '_', '-');
  const auto file = file_of_stage(milestone.folder, stage);
  const auto items = load_score_rules(milestone.folder).items;
  return file && file->parent_path().filename() == "stages" &&
         std::ranges::find(items, stage, &ScoreRule::stage) == items.end();
}

/// Examines one milestone and prints what is wrong with it.
class Lint {
 public:
  explicit Lint(const CourseMilestone& milestone) : milestone_(milestone) {}

  /// False if something is missing.
  bool run() {
    examine("exercises as in milestones/handout.sha256", [&] { compare_with_manifest(); });
    examine("exercises compile and fail politely", [&] { check_exercises(); });
    // Emulated references take minutes with sanitizers.
    const bool has_reference = std::filesystem::exists(program_of(milestone_.id, "reference"));
    if (has_reference && !CONVLAB_ADDRESS_SANITIZER) {
      examine("reference passes every case and batch 4", [&] { check_reference(); });
    }
    examine("points", [&] { compare_points(); });
    return is_good_;
  }

 private:
  template <class Examine>
  void examine(const std::string& what, Examine examine) {
    problems_.clear();
    notes_.clear();
    try {
      examine();
    } catch (const Error& error) {
      problems_ = {error.what()};
    }
    progress_.clear();
    is_good_ = is_good_ && problems_.empty();
    std::cout << (problems_.empty() ? coloured("ok    ", Colour::kGood)
                                    : coloured("WRONG ", Colour::kBad))
              << milestone_.id << "  " << what << "\n";
    for (const std::string& problem : problems_) std::cout << paragraph("        → ", problem);
    for (const std::string& note : notes_) std::cout << paragraph("        ", note);
    std::cout << std::flush;
  }

  void compare_with_manifest() {
    std::set<std::string> known;
    for (const HandoutFile& file : handout_files(milestone_)) {
      known.insert(file.path);
      if (is_as_handed_out(file)) continue;
      problems_.push_back(file.path +
                          " is not as milestones/handout.sha256 says; if it should be, "
                          "build/bin/grader lint --update renews that file.");
    }
    for (const auto& file : source_files(milestone_)) {
      const std::string path = path_of(file);
      if (known.contains(path)) continue;
      if (is_private(milestone_, file.stem())) {
        notes_.push_back("private: " + path + ", not handed out and without points");
      } else {
        problems_.push_back(path + " is not in milestones/handout.sha256.");
      }
    }
  }

  // Keeps the stages of the solution.
  CheckResult checked(const std::string& solution, int batch, std::set<std::string>& stages) {
    const CheckResult result =
        grade({.milestone = milestone_.id,
               .solution = solution,
               .work = {.program = program_of(milestone_.id, solution)},
               .batches = {batch}},
              {.announce = [&](const std::string& what) { progress_.show(what); }});
    for (const CaseResult& test : result.cases) stages.insert(test.stage);
    return result;
  }

  // Every stage that is handed out must give E-not-implemented, which names its file.
  void check_exercises() {
    CheckResult result = checked("student", 1, stages_);
    std::erase_if(stages_, [&](const std::string& stage) { return is_private(milestone_, stage); });
    std::erase_if(result.findings,
                  [&](const Finding& finding) { return is_private(milestone_, finding.stage); });
    std::vector<std::string> named;
    for (const Finding& finding : result.findings) {
      named.insert(named.end(), finding.values.begin(), finding.values.end());
      if (is_of_kind(finding, "not-begun")) continue;
      problems_.push_back("Stage '" + finding.stage + "' gives " + finding.id +
                          " instead of E-not-implemented: " + finding.seen.text());
    }
    if (result.findings.size() != std::max<std::size_t>(1, stages_.size())) {
      problems_.push_back("A stage passes as it is handed out.");
    }
    for (const HandoutFile& file : handout_files(milestone_)) {
      // A program lacks stages whose library is missing.
      const std::string text = read_text(course_folder() / file.path);
      if (is_puzzle(file.path) || text.find("StageLeftOut") != std::string::npos) continue;
      if (std::ranges::find(named, file.path) == named.end())
        problems_.push_back("No finding names " + file.path + ".");
    }
  }

  void check_reference() {
    const CheckResult result = checked("reference", 4, references_);
    for (const Finding& finding : result.findings) {
      problems_.push_back("Stage '" + finding.stage + "': " + finding.id + ", " +
                          finding.seen.text());
    }
    if (result.result.runs.size() != references_.size()) {
      problems_.push_back("A stage did not reach the network.");
    }
  }

  void compare_points() {
    std::set<std::string> scored;
    for (const ScoreRule& rule : load_score_rules(milestone_.folder).items) {
      scored.insert(rule.stage);
      if (rule.what == ScoreRule::What::kSpeed && !references_.empty() &&
          stages_.contains(rule.stage) && !references_.contains(rule.reference)) {
        problems_.push_back("scores.json compares with the reference's stage '" + rule.reference +
                            "', which does not exist.");
      }
      if (!stages_.contains(rule.stage) && !file_of_stage(milestone_.folder, rule.stage)) {
        problems_.push_back("scores.json has points for " + rule.stage + ", which has no file.");
      }
    }
    for (const std::string& stage : stages_) {
      if (!scored.contains(stage)) {
        problems_.push_back("scores.json has no points for " + stage + ".");
      }
    }
  }

  const CourseMilestone& milestone_;
  ProgressLine progress_;
  std::vector<std::string> problems_;
  std::vector<std::string> notes_;
  std::set<std::string> stages_;      // of the exercises that are handed out
  std::set<std::string> references_;  // empty where they were not run
  bool is_good_ = true;
};

void update_manifest() {
  std::vector<std::filesystem::path> files;
  for (const CourseMilestone& milestone : milestones()) {
    for (const auto& file : source_files(milestone)) {
      if (!is_private(milestone, file.stem())) files.push_back(file);
    }
  }
  std::string text;
  for (const SourceFile& file : describe_files(files))
    text += file.sha256 + "  " + file.path + "\n";
  write_atomically(course_folder() / "milestones" / "handout.sha256", text);
}

struct LintOptions {
  std::string milestone;
  bool update = false;
};

ExitCode run(const LintOptions& options) {
  if (!options.milestone.empty()) find_milestone(options.milestone);  // throws if there is none
  if (options.update) update_manifest();
  bool good = true;
  for (const CourseMilestone& milestone : milestones()) {
    if (!options.milestone.empty() && milestone.id != options.milestone) continue;
    good &= Lint(milestone).run();
  }
  std::cout << (good ? "The course is complete.\n" : "Fix what is marked WRONG.\n");
  return good ? ExitCode::kPassed : ExitCode::kFallsShort;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(app, exit_code, "lint", run);
  command.add_option("MILESTONE", options.milestone);
  command.add_flag("--update", options.update);
}

}  // namespace convlab::grader::lint_command
