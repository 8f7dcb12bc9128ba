#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "common/serve/finding_texts.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/check_puzzles.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/tree_check.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/judge/grade.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::check_command {

namespace {

namespace fs = std::filesystem;

bool runs_on_cpu(const CourseMilestone& milestone) {
  return milestone.id == "m1";
}

// The files that milestones/CMakeLists.txt compiles: one file for m1 and m2, for the others each
// file in the folder or in stages/, without puzzles. For a single stage only its file: compiling
// all of m4 takes far longer than checking a stage.
SubmittedSources students_sources(const CourseMilestone& milestone, const std::string& stage) {
  const bool has_one = milestone.id == "m1" || milestone.id == "m2";
  const UsageError no_file("There is no file to check in " + display_path(milestone.folder) +
                           "; build/bin/grader reset " + milestone.id +
                           " puts it back as handed out.");
  if (source_files(milestone).empty()) throw no_file;
  SubmittedSources all = sources_of(milestone.folder, runs_on_cpu(milestone));
  auto one = has_one || !stage.empty() ? file_of_stage(milestone.folder, stage) : std::nullopt;
  // A copy of the exercise may have any name.
  if (one && !has_one && one->stem() == "conv_forward") one.reset();
  std::erase_if(all.sources, [&](const fs::path& file) {
    const auto place = file.parent_path();
    return one ? file != *one : place != milestone.folder && place != milestone.folder / "stages";
  });
  // Of a choice of stages only those that were begun.
  if (!one && fs::exists(milestone.folder / "stages")) {
    const auto handed_out = handout_files(milestone);
    std::erase_if(all.sources, [&](const fs::path& file) {
      return std::ranges::any_of(handed_out, [&](const HandoutFile& each) {
        return course_folder() / each.path == file && is_as_handed_out(each);
      });
    });
    if (all.sources.empty()) {
      throw Error(ExitCode::kFallsShort,
                  "No stage of " + milestone.id + " is begun. Next: build/bin/grader next");
    }
  }
  if (all.sources.empty()) throw no_file;
  return all;
}

// Builds the student's files. Those in milestones/ may come from anybody, so they are built in
// isolation like custom submissions.
void build_students_work(const CourseMilestone& milestone, const std::string& stage,
                         GradeRequest& request) {
  // A tree without the parts, as in tests, has only the program that CMake builds.
  if (!fs::exists(build_folder() / "custom_submission")) {
    request.work.unbuilt = build_milestone(milestone);
    return;
  }
  // First: where a file is missing CMake fails, too, and does not say how to get it back.
  const SubmittedSources sources = students_sources(milestone, stage);
  build_custom_submission_parts(runs_on_cpu(milestone));
  request.work = build_custom_submissions(sources, runs_on_cpu(milestone), build_folder());
}

// The stage of a program that is built from a file with the course interface.
constexpr const char* kGivenStage = "source";

// The task that a file was handed in for, if its place in a tree of the edition says it.
void find_task_of(const std::string& file, bool is_cpu, RulesRequest& rules) {
  if (!rules.edition || rules.task) return;
  for (const TaskFile& found : tasks_in(*rules.edition, {file})) {
    if (found.task.is_cpu() == is_cpu) rules.task = found.task;
  }
}

// What the edition leaves at a warning, and what not.
void take_edition(GradeRequest& request) {
  const auto& [rules, edition, task] = request.rules;
  if (!edition) return;
  for (const std::string& id : ids_of_kind("may-warn")) {
    if (!edition->warnings.contains(id)) request.refused.insert(id);
  }
  if (task && std::ranges::count(task->rules, "kernels-in-convolve") > 0) {
    request.refused.merge(ids_of_kind("converted"));
  }
}

// In results a stage of a task has the task's name; in the program it is the interface's.
void rename_stage(CheckResult& check, const std::string& from, const std::string& to) {
  const auto rename = [&](std::string& stage) {
    if (stage == from) stage = to;
  };
  for (CaseResult& test : check.cases) rename(test.stage);
  for (RunResult& run : check.result.runs) rename(run.stage.id);
  for (auto* findings : {&check.findings, &check.warnings}) {
    for (Finding& finding : *findings) rename(finding.stage);
  }
  if (!check.score) return;
  for (ScoreItem& item : check.score->items) rename(item.stage);
}

std::string shown_solution(const CheckOptions& options) {
  return printable_line(options.shown.empty() ? options.solution : options.shown);
}

// What to check, from the command line; builds nothing.
GradeRequest request_of(const CourseMilestone& milestone, const CheckOptions& options) {
  // Not within the braces: GCC destroys what is already made twice if a later part throws.
  const fs::path program = options.program.empty() ? program_of(options.milestone, options.solution)
                                                   : fs::absolute(options.program);
  const RulesRequest named_rules = parse_rules(options.rules, options.milestone);
  GradeRequest request{.milestone = options.milestone,
                       .solution = shown_solution(options),
                       .work = {.program = program},
                       .network = options.network,
                       .rules = named_rules,
                       .finds_precision = options.precision == "auto",
                       .refused = {options.refused.begin(), options.refused.end()},
                       .mend = options.mend == "always"  ? MendSearch::kAlways
                               : options.mend == "never" ? MendSearch::kNever
                                                         : MendSearch::kUsual,
                       .competition = options.competition};
  const bool is_named = !options.precision.empty() && !request.finds_precision;
  if (is_named) request.precision = parse_precision(options.precision);
  if (!options.stage.empty()) request.stage = options.stage;
  // Whoever names no term is ranked as the last one that said how.
  if (options.competition && !request.rules.edition) request.rules.edition = ranked_edition();
  const auto& edition = request.rules.edition;
  if (edition && request.network == kDefaultPreset) request.network = edition->network;
  find_task_of(options.solution, runs_on_cpu(milestone), request.rules);
  take_edition(request);
  if (!options.times_of.empty()) {
    request.checked = read_check_result(options.times_of);
    if (request.rules.task) rename_stage(*request.checked, request.rules.task->name, kGivenStage);
  }
  if (!options.batches.empty()) request.batches = parse_batches(options.batches);
  if (options.seed != 0) request.seed = options.seed;
  if (!options.only_case.empty()) request.only_case = parse_case(options.only_case);
  if (options.time_limit_s > 0.0) {
    request.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(options.time_limit_s));
  }
  if (!request.only_case && fs::exists(milestone.folder / "scores.json")) {
    request.score = {.rules = load_score_rules(milestone.folder),
                     .reference = program_of(milestone.id, "reference"),
                     .measures_speed = !options.no_speed};
    const ScoreRules& rules = request.score->rules;
    if (!rules.rules.empty() && !request.rules.edition && options.rules.empty()) {
      request.rules = parse_rules(rules.rules);
    }
    if (!rules.precision.empty() && options.precision.empty() && !request.rules.edition)
      request.precision = parse_precision(rules.precision);
  }
  return request;
}

// Builds the file that --solution names.
void build_given_file(const CourseMilestone& milestone, const CheckOptions& options,
                      GradeRequest& request) {
  const bool on_cpu = runs_on_cpu(milestone);
  const SubmittedSources sources = sources_of(options.solution, on_cpu);
  if (!has_custom_submission_parts(on_cpu)) build_custom_submission_parts(on_cpu);
  std::vector<std::string> libraries = options.libraries;
  if (const auto& task = request.rules.task) {
    libraries.insert(libraries.end(), task->libraries.begin(), task->libraries.end());
  }
  request.work = build_custom_submissions(sources, on_cpu, build_folder(), libraries);
  if (request.work.unbuilt && is_of_kind(*request.work.unbuilt, "library") && !libraries.empty() &&
      request.work.device != Device::kGpu) {
    throw EnvironmentError(
        shown_solution(options) +
        " calls a library, which is not emulated: check it where there is a GPU.");
  }
  // What was handed in for a task has no stages, even if it does not compile.
  if (request.work.form == FileInterface::kStages && !request.rules.task) return;
  // The grader finds the precision of a course file; that of a stage stands in the milestone's
  // table.
  if (request.rules.rules.value_or(Rules::kCourse) == Rules::kCourse && !request.precision) {
    request.finds_precision = true;
  }
  if (request.score && !name_only_stage(request.score->rules, kGivenStage)) request.score.reset();
}

// A check of one stage does not change the results of the others.
fs::path default_file(const CheckOptions& options) {
  const std::string stage = options.stage.empty() ? "" : "-" + options.stage;
  const std::string solution = fs::path(options.solution).stem().string();
  return results_folder() / (options.milestone + "-" + solution + stage + ".json");
}

// @param renamed  why its stages are none of the milestone's
void print_verdict(const CheckResult& check, const fs::path& file, bool one_case,
                   const std::string& renamed) {
  const bool passed = check.result.verdict == Verdict::kPassed;
  if (one_case) {
    std::cout << (passed ? "RIGHT" : "WRONG") << " at this case; no other was checked.\n";
    return;
  }
  const std::string untried = passed ? untried_text(check) : "";
  std::cout << "\n"
            << (!renamed.empty() && check.findings.empty() ? "NO POINTS"
                : !passed                                  ? coloured("NOT PASSED", Colour::kBad)
                : untried.empty()                          ? coloured("PASSED", Colour::kGood)
                                                           : "PASSED SO FAR")
            << "  Details: " << display_path(file) << "\n";
  const bool is_right = renamed.empty() && !passed && check.findings.empty();
  const std::string bare =
      is_right ? "Its results are right, but no stage shows the technique that it is about." : "";
  for (const std::string& text : {renamed, bare, untried}) {
    if (!text.empty()) std::cout << paragraph("", text);
  }
  if (!check.isolation.empty()) std::cout << paragraph("", check.isolation);
  if (check.result.runs.empty()) return;
  std::cout << coloured(paragraph("",
                                  "Times: median ± half the interquartile range. Error: the worst "
                                  "element, in units of 2^-24 · Σ|a||b|; of single precision up to "
                                  "32 is right (docs/grading.md)."),
                        Colour::kQuiet);
}

// Why there are no points for a right stage: its name. Empty if that is a name of the milestone.
std::string renamed_text(const ScoreRules& rules, const CheckResult& check) {
  const std::string& wanted = rules.items.front().stage;
  const auto is_known = [&](const RunResult& run) {
    return std::ranges::count(rules.items, run.stage.id, &ScoreRule::stage) > 0;
  };
  if (check.result.runs.empty()) return {};
  if (std::ranges::any_of(check.result.runs, is_known)) return {};
  if (std::ranges::count(rules.items, wanted, &ScoreRule::stage) < std::ssize(rules.items)) {
    return "A stage of your own, such as " + check.result.runs.front().stage.id +
           ", gives no points.";
  }
  return "Your stage is called " + check.result.runs.front().stage.id +
         ", so it gives no points: let the last lines of the file say .id = \"" + wanted +
         "\" again.";
}

// The lines of one stage; all lines if none was named.
Score of_stage(Score score, const std::string& stage) {
  if (stage.empty()) return score;
  std::erase_if(score.items, [&](const ScoreItem& item) { return item.stage != stage; });
  score.choice.reset();
  return score;
}

// Of a student's own work: prediction and puzzles count, and what is not begun is told. False if
// puzzles come first.
bool prepare_students_work(const CourseMilestone& milestone, const CheckOptions& options,
                           CheckPrinter& printer, GradeRequest& request) {
  std::optional<SolvedPuzzles> solved;
  if (!options.stage.empty()) {
    const auto puzzles = puzzles_of(milestone);
    if (!puzzles.empty()) {
      solved = {static_cast<int>(known_solved(milestone).size()), static_cast<int>(puzzles.size())};
    }
  } else if (!request.only_case && !passes_puzzles(milestone, printer, solved)) {
    return false;
  }
  if (request.score) {
    request.score->puzzles = solved;
    request.score->predicted.emplace();
    for (const auto& [stage, slip] : read_notebook(milestone).predictions) {
      if (is_reasoned(slip.reason)) request.score->predicted->insert(stage);
    }
  }
  printer.observer().announce("building " + milestone.id);
  build_students_work(milestone, options.stage, request);
  printer.clear();
  return true;
}

// Writes the result, and of a student's own work what the notebook tells of it. @return the file
fs::path keep(const CheckResult& check, const CourseMilestone& milestone,
              const CheckOptions& options, bool is_students) {
  const fs::path file = options.json.empty() ? default_file(options) : fs::path(options.json);
  // One case says nothing of the others: it is no result of the stage.
  const bool is_whole = options.only_case.empty();
  if (is_whole || !options.json.empty()) write_check_result(file, check);
  if (!is_students || !options.json.empty() || !is_whole) return file;
  append_history(history_file(), check);
  Notebook notebook = read_notebook(milestone);
  note_numbers(notebook, known_times(check.result));
  write_notebook(milestone, notebook);
  return file;
}

// Of the stages that the file of a task has under another name.
GradeObserver observer_for(CheckPrinter& printer, const std::optional<EditionTask>& task) {
  GradeObserver observer = printer.observer();
  if (!task) return observer;
  observer.tell = [&printer, &task](StageInfo stage, const StageReport& report) {
    if (stage.id == kGivenStage) stage.id = task->name, stage.title = task->title;
    printer.observer().tell(stage, report);
  };
  return observer;
}

ExitCode run_check(const CheckOptions& options, CheckPrinter& printer);

// What an editor reads stands alone; without a finding, all that the check says is told beside it.
ExitCode run(const CheckOptions& options) {
  CheckPrinter printer(options.format);
  if (options.format == "text") return run_check(options, printer);
  std::ostringstream text;
  std::streambuf* const shown = std::cout.rdbuf(text.rdbuf());
  const std::unique_ptr<std::streambuf, void (*)(std::streambuf*)> back(
      shown, [](std::streambuf* buffer) { std::cout.rdbuf(buffer); });
  const ExitCode code = run_check(options, printer);
  std::cout.rdbuf(shown);
  const std::string& found = printer.for_editor();
  (found.empty() ? std::cerr : std::cout) << (found.empty() ? text.str() : found);
  return code;
}

/// What is checked.
struct Subject {
  CourseMilestone milestone{};
  bool is_file = false;      ///< given by --solution
  bool is_students = false;  ///< the student's own work in the milestone's folder
};

// Errors in the command line are reported before anything is built.
void check_options(const CheckOptions& options, const Subject& subject) {
  if (!subject.is_file && !(options.precision + options.puzzles).empty()) {
    throw UsageError("--precision and --puzzles are for a file given by --solution.");
  }
  const RulesRequest rules = parse_rules(options.rules, options.milestone);
  if (rules.task) {
    const std::string id = rules.edition->id_of(*rules.task);
    if (!subject.is_file && options.program.empty()) {
      throw UsageError(id + " is a task of the course: name its file, --solution FILE.");
    }
    if (rules.task->is_cpu() != runs_on_cpu(subject.milestone)) {
      throw UsageError("The task " + id + " is not for " + subject.milestone.id + "; check " + id +
                       " --solution FILE takes the right one.");
    }
  }
  if (!options.json.empty()) require_writable(options.json);
  load_preset(options.network);
  if (options.program.empty()) require_solution(options.solution);
}

// The findings in options.format, unless the sources are unknown.
void tell_editor(const CheckOptions& options, const Subject& subject, const CheckResult& check,
                 CheckPrinter& printer) {
  const bool has_sources = options.program.empty() && (subject.is_file || subject.is_students);
  if (options.format == "text" || !has_sources) return;
  const SubmittedSources named = subject.is_file
                                     ? sources_of(options.solution, runs_on_cpu(subject.milestone))
                                     : students_sources(subject.milestone, options.stage);
  printer.tell_editor(check, named.sources, course_folder());
}

CheckResult grade_as_named(const GradeRequest& request, CheckPrinter& printer) {
  const auto& task = request.rules.task;
  CheckResult check = grade(request, observer_for(printer, task));
  printer.clear();
  if (!task) return check;
  rename_stage(check, kGivenStage, task->name);
  for (RunResult& run : check.result.runs) run.stage.title = task->title;
  return check;
}

void print_points(const CheckResult& check, const CheckOptions& options) {
  // If nothing runs, a table of zeros would not help.
  std::optional<Score> shown;
  if (check.score && (check.findings.empty() || check.score->earned() > 0.0)) {
    shown = of_stage(*check.score, options.stage);
  }
  const std::string points = points_tables(check, shown);
  if (!points.empty()) std::cout << "\n" << points;
}

ExitCode run_check(const CheckOptions& options, CheckPrinter& printer) {
  if (options.launcher == "slurm") return run_as_slurm_job(own_words_without_launcher());
  const bool is_file = is_source_file(options.solution);
  if (is_file && options.program.empty()) {
    if (const auto ended = check_tree(options, run)) return *ended;
  }
  if (options.milestone.empty()) {
    throw UsageError("Name a milestone, like m1; only a tree of the course needs none.");
  }
  const bool is_students = options.solution == "student" && options.program.empty();
  const Subject subject{find_milestone(options.milestone), is_file, is_students};
  const CourseMilestone& milestone = subject.milestone;
  GradeRequest request = request_of(milestone, options);
  check_options(options, subject);
  if (is_students && !options.stage.empty()) {
    require_stage(milestone, options.stage);
    const auto ended = check_exercise(milestone, options.stage, options.cause, printer);
    if (ended) return *ended;
  }
  if (!options.cause.empty()) {
    throw UsageError(
        "--cause is of a broken kernel or of the detective's case; name it by --stage.");
  }
  if (options.program.empty() && is_file) build_given_file(milestone, options, request);
  std::cout << "Checking " << milestone.id << ", " << milestone.title << ": "
            << (!options.program.empty() ? display_path(request.work.program)
                : is_file                ? shown_solution(options)
                                         : "the " + options.solution + "'s solution")
            << std::endl;
  std::vector<SourceFile> sources;
  if (is_students) {
    sources = describe_files(source_files(milestone));
    if (!prepare_students_work(milestone, options, printer, request)) return ExitCode::kFallsShort;
  }
  if (!options.puzzles.empty() && request.score) {
    request.score->puzzles = puzzles_in(milestone, options.puzzles, printer);
  }
  CheckResult check = grade_as_named(request, printer);
  tell_editor(options, subject, check, printer);
  print_points(check, options);
  // If a file was saved during the check, the new version was not checked.
  if (is_students && describe_files(source_files(milestone)) == sources) check.sources = sources;
  const fs::path file = keep(check, milestone, options, is_students);
  print_verdict(
      check, file, request.only_case.has_value(),
      request.score && !request.rules.edition ? renamed_text(request.score->rules, check) : "");
  const bool passed = check.result.verdict == Verdict::kPassed;
  return passed ? ExitCode::kPassed : ExitCode::kFallsShort;
}

/// A finding that only warns by some rules. Every start of the grader declares its commands, also
/// in sandboxes without the file of findings, so that is read only when the option is given.
std::string finding_that_may_warn(std::string& id) {
  return CLI::IsMember(ids_of_kind("may-warn"))(id);
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(app, exit_code, "check", run);
  command.add_option("MILESTONE", options.milestone);
  command.add_option("--stage", options.stage);
  command.add_option("--cause", options.cause);
  command.add_option("--batches", options.batches);
  command.add_option("--network", options.network)->capture_default_str();
  command.add_option("--solution", options.solution)->capture_default_str();
  command.add_option("--rules", options.rules);
  command.add_option("--precision", options.precision);
  command.add_option("--allow-library", options.libraries)->check(CLI::IsMember(kGpuLibraries));
  command.add_option("--refuse", options.refused)
      ->check(CLI::Validator(finding_that_may_warn, "FINDING"));
  command.add_option("--puzzles", options.puzzles);
  command.add_option("--json", options.json);
  command.add_option("--format", options.format)->check(CLI::IsMember({"text", "gcc", "github"}));
  command.add_option("--mend", options.mend)->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_flag("--no-speed", options.no_speed);
  command.add_flag("--competition", options.competition);
  command.add_option("--times-of", options.times_of);
  command.add_option("--case", options.only_case);
  command.add_option("--seed", options.seed)->check(CLI::NonNegativeNumber);
  command.add_option("--time-limit", options.time_limit_s)->check(CLI::PositiveNumber);
  add_launcher(command, options.launcher);
  command.add_option("--program", options.program)->group("");  // for tests: another executable
}

}  // namespace convlab::grader::check_command
