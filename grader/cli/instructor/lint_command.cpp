#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/cli/check_puzzles.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/grade.hpp"
#include "grader/scores/points.hpp"

namespace convlab::grader::lint_command {

namespace {

struct Options {
  int batch = 4;
  std::string milestone;
  bool skip_references = false;
  bool update = false;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Prints the examined items.
class Report {
 public:
  explicit Report(std::string milestone) : milestone_(std::move(milestone)) {}

  /// @param problems  none: it is as it should be
  void item(const std::string& what, const std::vector<std::string>& problems) {
    progress_.clear();
    good_ = good_ && problems.empty();
    std::cout << coloured(problems.empty() ? "ok    " : "WRONG ",
                          problems.empty() ? Colour::kGood : Colour::kBad)
              << milestone_ << "  " << what << "\n";
    for (const std::string& problem : problems) std::cout << paragraph("        → ", problem);
    std::cout << std::flush;
  }

  void announce(const std::string& what) { progress_.show(milestone_ + ": " + what); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string milestone_;
  ProgressLine progress_;
  bool good_ = true;
};

void require_parts(const std::string& path, const std::vector<std::string>& parts,
                   std::vector<std::string>& problems) {
  const std::string text = read_text(course_folder() / path);
  for (const std::string& part : parts) {
    if (!contains(text, part)) problems.push_back(path + " lacks: " + part);
  }
}

void examine_hints(const std::string& name, const std::vector<std::string>& hints,
                   std::size_t least, std::vector<std::string>& problems) {
  if (hints.size() >= least) return;
  problems.push_back("hints.json has only " + std::to_string(hints.size()) + " hints for " + name +
                     "; there should be at least " + std::to_string(least) + ".");
}

// A stage has at least four hints of its own, from a nudge to nearly the code.
std::vector<std::string> hint_problems(const CourseMilestone& milestone) {
  const Hints hints = read_hints(milestone.folder / "hints.json");
  std::vector<std::string> problems;
  if (!hints.contains("general")) problems.push_back("hints.json lacks the list 'general'.");
  for (const auto& [stage, list] : hints) {
    examine_hints(stage, list, stage == "general" ? 3 : 4, problems);
  }
  for (const Puzzle& puzzle : puzzles_of(milestone)) {
    if (hints.contains(puzzle.stage)) continue;
    problems.push_back("hints.json has no hints for the puzzle " + puzzle.stage + ".");
  }
  for (const auto& [id, list] : read_hints(course_folder() / "milestones/finding_hints.json")) {
    if (std::ranges::find(catalogue(), id, &Diagnosis::id) == catalogue().end()) {
      problems.push_back("finding_hints.json has hints for " + id + ", which no check finds.");
    }
  }
  return problems;
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

// The chapter names its check, and every exercise begins with idea, cost, expectation and how to
// run it, and says what to fill in.
std::vector<std::string> text_problems(const CourseMilestone& milestone) {
  const std::vector<std::string> header = {"// Idea  ", "// Cost  ", "// Expect", "// Run   "};
  const std::string name = milestone.folder.filename().string();
  std::vector<std::string> problems;
  require_parts("milestones/" + name + "/README.md",
                {"# Milestone " + milestone.id.substr(1) + ": ", "grader check " + milestone.id},
                problems);
  for (const HandoutFile& file : handout_files(milestone)) {
    if (is_puzzle(file.path)) continue;
    require_parts(file.path, header, problems);
    require_parts(
        file.path,
        {"Fill in: about", "// Picture", "convlab::not_implemented(\"" + file.path + "\");"},
        problems);
  }
  return problems;
}

GradeObserver observer_of(Report& report) {
  return {.announce = [&report](const std::string& what) { report.announce(what); }};
}

std::set<std::string> stages_of(const CheckResult& result) {
  std::set<std::string> stages;
  for (const CaseResult& test : result.cases) stages.insert(test.stage);
  return stages;
}

// Every stage must give E-not-implemented, which names its file.
std::vector<std::string> handout_problems(const CourseMilestone& milestone, Report& report,
                                          std::set<std::string>& stages) {
  const CheckResult result = grade({.milestone = milestone.id,
                                    .work = {.program = program_of(milestone.id, "student")},
                                    .batches = {1}},
                                   observer_of(report));
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

std::vector<std::string> reference_problems(const CourseMilestone& milestone, int batch,
                                            Report& report, std::set<std::string>& stages) {
  const CheckResult result = grade({.milestone = milestone.id,
                                    .solution = "reference",
                                    .work = {.program = program_of(milestone.id, "reference")},
                                    .batches = {batch}},
                                   observer_of(report));
  stages = stages_of(result);
  std::vector<std::string> problems;
  for (const Finding& finding : result.findings) {
    problems.push_back("Stage '" + finding.stage + "': " + finding.id + ", " + finding.seen);
  }
  if (result.result.runs.size() != stages.size())
    problems.push_back("A stage did not reach the network.");
  return problems;
}

// The puzzles as the reference solves them: those handed out, with the lines changed that
// reference/solutions/…/puzzles says. Nothing where the reference is not part of the tree.
std::vector<Puzzle> solved_puzzles(const CourseMilestone& milestone, const std::string& folder) {
  const auto changes =
      course_folder() / "reference" / "solutions" / milestone.folder.filename() / folder;
  if (!std::filesystem::is_directory(changes)) return {};
  std::vector<Puzzle> puzzles = puzzles_of(milestone, folder);
  for (Puzzle& puzzle : puzzles) {
    const auto name = puzzle.file.filename();
    const auto change = changes / std::filesystem::path(name).replace_extension(".change");
    const auto file = build_folder() / "solved-puzzles" / milestone.id / name;
    if (!std::filesystem::exists(change)) continue;
    std::filesystem::create_directories(file.parent_path());
    write_atomically(file,
                     with_changed_lines(read_text(puzzle.file), read_text(change), name.string()));
    puzzle.file = file;
  }
  return puzzles;
}

// As handed out no puzzle is solved; the reference solves all of them.
std::vector<std::string> puzzle_problems(const CourseMilestone& milestone,
                                         const std::string& folder, Report& report) {
  std::vector<std::string> problems;
  for (const bool reference : {false, true}) {
    const auto puzzles =
        reference ? solved_puzzles(milestone, folder) : puzzles_of(milestone, folder);
    if (puzzles.empty()) continue;
    for (const Puzzle& puzzle : puzzles) {
      report.announce("the puzzle " + puzzle.stage);
      const auto found = check_puzzle(milestone, puzzle);
      if (!reference && !found) problems.push_back(puzzle.stage + " is solved as handed out.");
      if (!reference || !found) continue;
      problems.push_back("The reference does not solve " + puzzle.stage + ". " + found->id + ": " +
                         found->seen);
    }
  }
  return problems;
}

// As handed out every kernel of the detective's case is right; the reference makes all of them
// fast.
std::vector<std::string> detective_problems(const CourseMilestone& milestone, Report& report) {
  std::vector<std::string> problems;
  for (const bool is_mended : {false, true}) {
    const auto kernels =
        is_mended ? solved_puzzles(milestone, "detective") : puzzles_of(milestone, "detective");
    double most = 0.0;
    for (const Puzzle& each : kernels) most = std::max(most, each.most_moved);
    for (const Puzzle& each : kernels) {
      report.announce(each.stage);
      if (const auto found = check_puzzle(milestone, each)) {
        problems.push_back(each.stage + " is wrong: " + found->seen);
        continue;
      }
      const bool is_fast = check_command::bytes_over_least(milestone, each) <= most;
      if (is_fast == (is_mended || each.cause.empty())) continue;
      problems.push_back(each.stage + (is_fast ? " is not slow." : " is slow."));
    }
  }
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

void lint(const CourseMilestone& milestone, const Options& options, Report& report) {
  const auto examined = [&](const std::string& what, const auto& examine) {
    std::vector<std::string> problems;
    try {
      problems = examine();
    } catch (const Error& error) {
      problems = {error.what()};
    }
    report.item(what, problems);
  };
  std::set<std::string> stages;
  std::set<std::string> references;
  const bool has_reference =
      std::filesystem::exists(program_of(milestone.id, "reference")) && !options.skip_references;
  examined("chapter and sources say what they must", [&] { return text_problems(milestone); });
  examined("hints", [&] { return hint_problems(milestone); });
  examined("exercises as in milestones/handout.sha256",
           [&] { return manifest_problems(milestone); });
  examined("exercises compile and fail politely",
           [&] { return handout_problems(milestone, report, stages); });
  if (has_reference) {
    examined("puzzles wait, and the reference solves them",
             [&] { return puzzle_problems(milestone, "puzzles", report); });
    examined("repairs are broken, and the reference mends them",
             [&] { return puzzle_problems(milestone, "repairs", report); });
    examined("the detective's kernels are right, and the reference makes them fast",
             [&] { return detective_problems(milestone, report); });
    examined("reference passes every case and batch " + std::to_string(options.batch),
             [&] { return reference_problems(milestone, options.batch, report, references); });
  }
  examined("points", [&] { return score_problems(milestone, stages, references); });
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
    Report report(milestone.id);
    lint(milestone, options, report);
    good &= report.good();
  }
  std::cout << (good ? "The course is complete.\n" : "Fix what is marked WRONG.\n");
  return good ? ExitCode::kPassed : ExitCode::kFallsShort;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(
      app, exit_code, "lint", "For instructors: is the course complete? (also a test in CI)", run);
  command.add_option("MILESTONE", options.milestone, "Only this milestone");
  command.add_option("--batch", options.batch, "Images that the reference stages classify")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_flag("--no-references", options.skip_references, "Leave the reference solutions out");
  command.add_flag("--update", options.update, "First update milestones/handout.sha256");
  command.footer("Example:\n  build/bin/grader lint");
}

}  // namespace convlab::grader::lint_command
