#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>

#include "common/command_line/run_program.hpp"
#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "common/text/printable.hpp"
#include "grader/checks/given_file.hpp"
#include "grader/cli/build.hpp"
#include "grader/cli/check_printer.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/cli/handout.hpp"
#include "grader/cli/progress.hpp"
#include "grader/cli/puzzles.hpp"
#include "grader/cli/sources.hpp"
#include "grader/grading/grade.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/score_table.hpp"
#include "grader/report/terminal.hpp"
#include "grader/result/check_history.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::check_command {

namespace {

struct Options {
  std::string milestone;
  std::string stage;
  bool all = false;
  std::string batches;
  std::string network = kDefaultPreset;
  std::string solution = "student";
  std::string program;
  std::string rules;
  std::string precision;
  std::vector<std::string> libraries;
  std::string puzzles;
  std::string json;
  std::string times_of;
  std::uint64_t seed = 0;
  double time_limit_s = 0.0;
  bool no_speed = false;
  bool no_build = false;
  std::string stages_to;
};

// A program that is older than its source would check yesterday's work.
bool is_stale(const CourseMilestone& milestone, const std::filesystem::path& program) {
  std::error_code missing;
  auto built = std::filesystem::last_write_time(program, missing);
  if (missing) return false;
  // Without a GPU only the emulated one is rebuilt.
  const auto emulated = std::filesystem::last_write_time(program.string() + "-emulated", missing);
  if (!missing) built = std::max(built, emulated);
  for (const auto& file : source_files(milestone)) {
    if (std::filesystem::last_write_time(file) <= built) continue;
    std::cout << paragraph("note: ", file.filename().string() + " is newer than " +
                                         display_path(program) +
                                         "; without --no-build it would be built first.");
    return true;
  }
  return false;
}

// A check of one stage does not change the results of the others.
std::filesystem::path default_file(const Options& options) {
  const std::string stage = options.stage.empty() ? "" : "-" + options.stage;
  const std::string solution = std::filesystem::path(options.solution).stem().string();
  return results_folder() / (options.milestone + "-" + solution + stage + ".json");
}

bool is_source_file(const std::string& solution) {
  return solution != "student" && solution != "reference";
}

std::filesystem::path program_to_check(const Options& options) {
  if (!options.program.empty()) return std::filesystem::absolute(options.program);
  return program_of(options.milestone, options.solution);
}

bool runs_on_cpu(const CourseMilestone& milestone) {
  return milestone.id == "m1";
}

void use(GivenFile file, GradeRequest& request) {
  request.build_emulated = std::move(file.build_emulated);
  request.build_plain = std::move(file.build_plain);
  request.program = std::move(file.program);
  request.unbuilt = std::move(file.finding);
  request.warnings = std::move(file.warnings);
  request.sources = std::move(file.sources);
}

// The files that milestones/CMakeLists.txt compiles: one file for m1 and m2, for the others each
// file in the folder or in stages/, without puzzles. For a single stage only the file with its
// name, if there is one: compiling all of m4 takes far longer than checking a stage.
SubmittedSources students_sources(const CourseMilestone& milestone, const std::string& stage) {
  const bool on_cpu = runs_on_cpu(milestone);
  const auto one_file = milestone.folder / (on_cpu ? "conv_forward.cpp" : "conv_forward.cu");
  SubmittedSources all = sources_of(milestone.folder, on_cpu);
  const bool has_one = milestone.id == "m1" || milestone.id == "m2";
  std::erase_if(all.sources, [&](const std::filesystem::path& file) {
    const auto place = file.parent_path();
    return has_one ? file != one_file
                   : place != milestone.folder && place != milestone.folder / "stages";
  });
  if (all.sources.empty()) throw UsageError("There is no " + display_path(one_file) + ".");
  std::string name = stage;
  std::ranges::replace(name, '-', '_');
  const auto own =
      std::ranges::find_if(all.sources, [&](const auto& file) { return file.stem() == name; });
  if (own != all.sources.end()) all.sources = {*own};
  return all;
}

// Not in tests, where a course has no builder for given files.
bool is_built_in_box() {
  return std::filesystem::exists(build_folder() / "given_file");
}

// The files in milestones/ may come from anybody, so they are built in isolation like given files.
void build_students_work(const CourseMilestone& milestone, const std::string& stage,
                         GradeRequest& request) {
  if (!is_built_in_box()) {
    request.unbuilt = build_milestone(milestone);
    return;
  }
  build_given_file_parts();
  use(build_given_files(students_sources(milestone, stage), runs_on_cpu(milestone), build_folder()),
      request);
}

// A course file cannot declare its precision, so the grader finds it. Other stages declare it.
std::optional<PrecisionRequest> precision_of(const Options& options, FileInterface form) {
  const bool named = !options.precision.empty() && options.precision != "auto";
  const bool by_course =
      form != FileInterface::kStages &&
      parse_rules(options.rules).rules.value_or(Rules::kCourse) == Rules::kCourse;
  std::optional<PrecisionRequest> request;
  if (named || by_course || options.precision == "auto") request.emplace();
  if (named) request->declared = parse_precision(options.precision);
  return request;
}

// A course file gets the points of a milestone with one stage.
bool score_given_file(ScoreRequest& score) {
  auto& items = score.rules.items;
  const std::string stage = items.front().stage;
  if (std::ranges::any_of(items, [&](const ScoreRule& rule) { return rule.stage != stage; })) {
    return false;
  }
  for (ScoreRule& rule : items) rule.stage = "source";
  return true;
}

GradeRequest request_of(const CourseMilestone& milestone, const Options& options) {
  GradeRequest request{.milestone = milestone.id,
                       .solution = printable_line(options.solution),
                       .network = options.network};
  if (options.program.empty() && is_source_file(options.solution)) {
    GivenFile file = build_given_files(sources_of(options.solution, runs_on_cpu(milestone)),
                                       runs_on_cpu(milestone), build_folder(), options.libraries);
    request.form = file.form;
    use(std::move(file), request);
  } else {
    request.program = program_to_check(options);
  }
  request.rules = parse_rules(options.rules);
  request.precision = precision_of(options, request.form);
  if (!options.stage.empty()) request.stage = options.stage;
  if (!options.times_of.empty()) request.checked = read_check_result(options.times_of);
  if (!options.batches.empty()) request.batches = parse_batches(options.batches);
  if (options.seed != 0) request.seed = options.seed;
  if (options.time_limit_s > 0.0) {
    constexpr double kMilliseconds = 1000.0;
    request.time_limit =
        std::chrono::milliseconds(static_cast<std::int64_t>(options.time_limit_s * kMilliseconds));
  }
  if (std::filesystem::exists(milestone.folder / "scores.json")) {
    request.score = {.rules = load_score_rules(milestone.folder),
                     .reference = program_of(milestone.id, "reference"),
                     .measures_speed = !options.no_speed};
    if (request.form != FileInterface::kStages && !score_given_file(*request.score)) {
      request.score.reset();
    }
  }
  return request;
}

// "fp32 may reach 32, fp16 16420": the precision classes that the runs above have.
std::string bounds_text(const CheckResult& check) {
  std::map<std::string, double> bounds;
  for (const RunResult& run : check.result.runs) {
    for (const LayerResult& layer : run.layers) {
      if (layer.error) bounds[to_string(run.stage.precision)] = layer.error->bound;
    }
  }
  std::string text;
  for (const auto& [name, bound] : bounds) {
    text += (text.empty() ? "" : ", ") + name + (text.empty() ? " may reach " : " ") +
            std::to_string(static_cast<long long>(bound));
  }
  return text;
}

void print_verdict(const CheckResult& check, const std::filesystem::path& file) {
  const bool passed = check.result.verdict == Verdict::kPassed;
  const std::string untried = passed ? untried_text(check) : "";
  std::cout << "\n"
            << (!passed           ? coloured("NOT PASSED", Colour::kBad)
                : untried.empty() ? coloured("PASSED", Colour::kGood)
                                  : "PASSED SO FAR")
            << "  Details: " << display_path(file) << "\n";
  if (!untried.empty()) std::cout << paragraph("", untried);
  if (!check.isolation.empty()) std::cout << paragraph("", check.isolation);
  const std::string bounds = bounds_text(check);
  if (bounds.empty()) return;
  std::cout << coloured(
      paragraph("",
                "Times: median ± half the interquartile range. Error: the worst element, in "
                "units of 2^-24 · Σ|a||b|; " +
                    bounds + "."),
      Colour::kQuiet);
}

// Whether a file equals the hand-out file at a place in the tree.
bool is_handed_out(const CourseMilestone& milestone, const std::filesystem::path& file,
                   const std::filesystem::path& place) {
  const std::string path = place.lexically_relative(course_folder()).generic_string();
  const std::string sha256 = describe_files({file}).front().sha256;
  const auto files = handout_files(milestone);
  return std::ranges::any_of(
      files, [&](const HandoutFile& each) { return each.path == path && each.sha256 == sha256; });
}

// Builds puzzles and checks them one after the other. `files` may lie anywhere; they have the names
// of the handed-out puzzles.
PuzzleWalk walk_built(const CourseMilestone& milestone,
                      const std::vector<std::filesystem::path>& files, CheckPrinter& printer) {
  const auto is_fresh = [&](const std::filesystem::path& file) {
    return is_handed_out(milestone, file, milestone.folder / "puzzles" / file.filename());
  };
  PuzzleWalk walk{.all = static_cast<int>(files.size()), .waits = files.front().string()};
  if (is_fresh(files.front())) return walk;  // nothing to build yet
  printer.observer().announce("the puzzles of " + milestone.id);
  build_given_file_parts();
  const GivenFile built =
      build_given_files({.folder = files.front().parent_path(), .sources = files, .headers = {}},
                        runs_on_cpu(milestone), build_folder());
  walk.finding = built.finding;
  return built.finding ? walk : walk_puzzles(files, built.program, is_fresh);
}

// The puzzles that came with a given file.
SolvedPuzzles puzzles_in(const CourseMilestone& milestone, const std::filesystem::path& folder,
                         CheckPrinter& printer) {
  std::vector<std::filesystem::path> files = puzzle_files(milestone);
  if (files.empty()) throw UsageError(milestone.id + " has no puzzles.");
  for (std::filesystem::path& file : files) {
    file = folder / file.filename();
    if (!std::filesystem::exists(file)) {
      throw UsageError("There is no puzzle " + file.string() +
                       "; --puzzles takes a folder that holds all puzzles of " + milestone.id +
                       ", named as they were handed out.");
    }
  }
  const PuzzleWalk walk = walk_built(milestone, files, printer);
  printer.clear();
  std::cout << "  puzzles: " << walk.solved << " of " << walk.all << " solved\n";
  return {walk.solved, walk.all};
}

// Checks the puzzles of a milestone. False if one is unsolved and the milestone itself is still as
// handed out; a student who has begun with the milestone is only reminded.
// @param solved_puzzles  gets how many are solved; none if there are no puzzles
bool passes_puzzles(const CourseMilestone& milestone, CheckPrinter& printer,
                    std::optional<SolvedPuzzles>& solved_puzzles) {
  const auto files = puzzle_files(milestone);
  if (files.empty()) return true;
  std::string solved;  // the puzzles that were solved last, by their bytes
  for (const SourceFile& file : describe_files(files)) solved += file.sha256 + "\n";
  const auto memory = results_folder() / (milestone.id + "-puzzles.solved");
  const bool known = std::filesystem::exists(memory) && read_text(memory) == solved;
  PuzzleWalk walk{.solved = static_cast<int>(files.size()), .all = static_cast<int>(files.size())};
  if (!known) walk = walk_built(milestone, files, printer);
  printer.clear();
  solved_puzzles = {walk.solved, walk.all};
  std::cout << "  puzzles: " << walk.solved << " of " << walk.all << " solved\n";
  if (walk.solved == walk.all) {
    if (!known) write_atomically(memory, solved);
    return true;
  }
  const auto own = source_files(milestone);
  const bool begun = std::ranges::any_of(own, [&](const auto& file) {
    return file.parent_path() == milestone.folder && !is_handed_out(milestone, file, file);
  });
  if (begun) return true;
  if (walk.finding) std::cout << finding_text(*walk.finding);
  std::cout << paragraph("    next   ", "Open " + display_path(walk.waits) +
                                            (walk.title.empty() ? "" : " (" + walk.title + ")") +
                                            ", solve it, and check again. " + milestone.id +
                                            " itself comes after the puzzles; if you begin with "
                                            "it, they are no longer asked for.");
  const std::string stage = stage_of_puzzle(walk.waits);
  std::cout << paragraph("    stuck  ",
                         "build/bin/grader hint " + milestone.id + " --stage " + stage);
  return false;
}

// The lines of one stage; all lines if none was named.
Score of_stage(Score score, const std::string& stage) {
  if (stage.empty()) return score;
  std::erase_if(score.items, [&](const ScoreItem& item) { return item.stage != stage; });
  score.choice.reset();
  return score;
}

// For grader watch: the names of the stages, or why the work does not build.
ExitCode write_stages(const GradeRequest& request, const std::filesystem::path& file) {
  if (request.unbuilt) {
    std::cout << finding_text(*request.unbuilt);
    return ExitCode::kFallsShort;
  }
  Submission submission(request.program);
  std::vector<StageInfo> stages;
  // No names: the check of everything says why there are none.
  if (submission.list_stages(stages)) stages.clear();
  std::string names;
  for (const StageInfo& stage : stages) names += stage.id + "\n";
  write_atomically(file, names);
  return ExitCode::kPassed;
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  // Errors in the command line are reported before anything is built.
  if (!options.batches.empty()) parse_batches(options.batches);
  parse_rules(options.rules);
  if (!options.precision.empty() && options.precision != "auto") {
    parse_precision(options.precision);
  }
  if (!options.precision.empty() && !is_source_file(options.solution)) {
    throw UsageError(
        "--precision is for a file given by --solution; the workbook's stages declare theirs.");
  }
  if (!options.puzzles.empty() && !is_source_file(options.solution)) {
    throw UsageError("--puzzles is for a file given by --solution; your own are found.");
  }
  if (!options.json.empty()) require_writable(options.json);
  load_preset(options.network);
  GradeRequest request = request_of(milestone, options);
  const bool is_students = options.solution == "student" && options.program.empty();
  if (options.stages_to.empty()) {
    std::cout << "Checking " << milestone.id << ", " << milestone.title << ": "
              << (!options.program.empty()           ? display_path(request.program)
                  : is_source_file(options.solution) ? printable_line(options.solution)
                                                     : "the " + options.solution + "'s solution")
              << std::endl;
  }
  CheckPrinter printer;
  std::vector<SourceFile> sources;
  if (is_students) sources = describe_files(source_files(milestone));
  if (is_students && !options.no_build) {
    const bool whole = options.stage.empty() && options.stages_to.empty();
    std::optional<SolvedPuzzles> puzzles;
    if (whole && !passes_puzzles(milestone, printer, puzzles)) return ExitCode::kFallsShort;
    if (request.score) request.score->puzzles = puzzles;
    printer.observer().announce("building " + milestone.id);
    build_students_work(milestone, options.stage, request);
    printer.clear();
  } else if (is_students) {
    if (is_stale(milestone, request.program)) sources.clear();  // the program was built from others
    // CMake built it beside the workbook's own code, without a check of its symbols.
    if (is_built_in_box()) request.score.reset();
  }
  if (!options.puzzles.empty() && request.score) {
    request.score->puzzles = puzzles_in(milestone, options.puzzles, printer);
  }
  if (!options.stages_to.empty()) return write_stages(request, options.stages_to);
  CheckResult check = grade(request, printer.observer());
  printer.clear();
  // If nothing runs, a table of zeros would not help.
  if (check.score && check.score->earned() > 0.0)
    std::cout << "\n" << score_table(of_stage(*check.score, options.stage));
  // If a file was saved during the check, the new version was not checked.
  if (is_students && describe_files(source_files(milestone)) == sources) check.sources = sources;
  const std::filesystem::path file =
      options.json.empty() ? default_file(options) : std::filesystem::path(options.json);
  write_check_result(file, check);
  if (is_students && options.json.empty()) append_history(history_file(), check);
  print_verdict(check, file);
  return check.result.verdict == Verdict::kPassed ? ExitCode::kPassed : ExitCode::kFallsShort;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "check", "Checks a milestone: cases, network, times", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  auto* stage = command.add_option("--stage", options.stage, "Only this stage");
  command.add_flag("--all", options.all, "Every stage (the default)")->excludes(stage);
  command.add_option("--batches", options.batches,
                     "Batches of the network, 1 to 10000 (default: 100,1000,10000, without the "
                     "last if a GPU is emulated)");
  command.add_option("--network", options.network, "Network preset")->capture_default_str();
  command
      .add_option("--solution", options.solution,
                  "student, reference, or a source file (.cpp for m1, .cu for the others), or a "
                  "folder of them")
      ->capture_default_str();
  command.add_option("--rules", options.rules,
                     "course (the layers of the network decide), workbook (every shape must be "
                     "right) or an edition, fa20 to sp26 (default: course for a file with the "
                     "course interface, else workbook)");
  command.add_option("--precision", options.precision,
                     "fp32, tf32, fp16, bf16, fp16-sums, or auto: the tightest class that a given "
                     "file keeps (default: auto under the rules of the course)");
  command
      .add_option("--allow-library", options.libraries,
                  "GPU library that a given file may call: cublas; not emulated")
      ->check(CLI::IsMember({"cublas"}));
  command.add_option("--puzzles", options.puzzles,
                     "Folder of the puzzles that came with a source file, for their points");
  command.add_option("--json", options.json,
                     "File of the result (default: build/results/MILESTONE-SOLUTION.json, with "
                     "the stage if named)");
  command.add_flag("--no-speed", options.no_speed, "Do not measure the speeds that give points");
  command.add_option("--times-of", options.times_of,
                     "Result of an earlier check of the same files with --no-speed: only measure "
                     "the speeds that it lacks");
  command.add_flag("--no-build", options.no_build,
                   "Check the program that CMake built last; gives no points");
  add_seed(command, options.seed, "Repeat the cases of an earlier check");
  command
      .add_option("--time-limit", options.time_limit_s,
                  "Seconds that one convolution may take (default: from its size)")
      ->check(CLI::PositiveNumber);
  command.add_option("--program", options.program)->group("");      // for tests: another executable
  command.add_option("--stages-to", options.stages_to)->group("");  // for grader watch
  command.footer(
      "Examples:\n"
      "  build/bin/grader check m1\n"
      "  build/bin/grader check m1 --batches 100\n"
      "  build/bin/grader check m2 --solution submissions/new-forward.cu\n"
      "  build/bin/grader check m2 --solution mine.cu --rules workbook\n"
      "  build/bin/grader check m1 --solution reference --stage openmp --network fa18");
}

}  // namespace convlab::grader::check_command
