#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "common/command_line/run_program.hpp"
#include "common/file/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "grader/checks/check.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/given_file.hpp"
#include "grader/cli/build.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/cli/sources.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/score_table.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/score.hpp"

namespace convlab::grader {

namespace {

struct Options {
  std::string milestone;
  std::string stage;
  bool all = false;
  std::string batches;
  std::string network = kDefaultPreset;
  std::string solution = "student";
  std::string program;
  std::string json;
  std::uint64_t seed = 0;
  double time_limit_s = 0.0;
  bool no_speed = false;
  bool no_build = false;
};

// A program that is older than its source is the classic way to check yesterday's work.
bool is_stale(const CourseMilestone& milestone, const std::filesystem::path& program) {
  std::error_code missing;
  auto built = std::filesystem::last_write_time(program, missing);
  if (missing) return false;
  // Without a GPU only the emulated one is built anew.
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

// A check of one stage leaves the result of the others alone.
std::filesystem::path default_file(const Options& options) {
  const std::string stage = options.stage.empty() ? "" : "-" + options.stage;
  const std::string solution = std::filesystem::path(options.solution).stem().string();
  return results_folder() / (options.milestone + "-" + solution + stage + ".json");
}

/// Prints while the check goes on.
class Printer {
 public:
  CheckObserver observer() {
    return {.announce = [this](const std::string& what) { progress_.show(what); },
            .cases_passed =
                [this](const StageInfo& stage, std::size_t cases) {
                  progress_.clear();
                  name(stage);
                  std::cout << "  element-wise cases: " << cases << " of " << cases << " "
                            << coloured("passed", Colour::kGood) << std::endl;
                },
            .run_ended =
                [this](const RunResult& run) {
                  progress_.clear();
                  if (table_of_ != run.stage.id) {
                    table_of_ = run.stage.id;
                    std::cout << "  network " << run.network << "\n"
                              << run_heading(run.layers.size()) << "\n";
                  }
                  std::cout << run_row(run) << std::endl;
                },
            .found =
                [this](const StageInfo& stage, const Finding& finding) {
                  progress_.clear();
                  name(stage);
                  std::cout << finding_text(finding) << std::flush;
                }};
  }

  void clear() { progress_.clear(); }

 private:
  void name(const StageInfo& stage) {
    if (named_ == stage.id) return;
    named_ = stage.id;
    std::cout << "\n" << coloured(stage.id, Colour::kStrong) << "  " << stage.title;
    if (stage.precision != "fp32") std::cout << " (" << stage.precision << ")";
    std::cout << "\n";
  }

  ProgressLine progress_;
  std::string named_;
  std::string table_of_;
};

// Only the program itself knows whether a GPU answers it.
bool emulates(const std::filesystem::path& program) {
  Submission submission(program);
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages)) return false;
  return submission.device().device == Device::kEmulated;
}

bool has_emulation(const std::filesystem::path& program) {
  return std::filesystem::exists(program.string() + "-emulated");
}

bool is_emulated(const Result& result, const std::filesystem::path& program) {
  if (!result.runs.empty()) return result.runs.front().device == Device::kEmulated;
  return has_emulation(program) && emulates(program);
}

// Measures the speeds that give points, fills in the table of points.
void add_score(const CourseMilestone& milestone, const Options& options,
               const CheckRequest& request, Result& result, Printer& printer) {
  const ScoreRules rules = load_score_rules(milestone.folder);
  const CheckedWork work{.result = result,
                         .only_stage = request.stage,
                         .batches = request.batches,
                         .network = request.network,
                         .emulated = is_emulated(result, request.program),
                         .cases_in_all = element_cases().size()};
  const auto reference = program_of(milestone.id, "reference");
  std::vector<SpeedOutcome> speeds;
  for (const ScoreRule& rule : rules.items) {
    std::string why;
    if (rule.what != ScoreRule::What::kSpeed || !can_measure(rule, rules, work, why)) continue;
    SpeedOutcome outcome{.stage = rule.stage, .batch = rule.batch};
    if (options.no_speed) {
      outcome.why_not = "left out (--no-speed)";
    } else if (!std::filesystem::exists(reference)) {
      outcome.why_not = "no reference solution here";
    } else {
      outcome = measure_speed(request, rule, rules, reference, printer.observer().announce);
    }
    for (const Finding& finding : outcome.findings) {
      result.findings.push_back(finding);
      result.verdict = Verdict::kFailed;
      printer.observer().found({.id = rule.stage}, finding);
    }
    speeds.push_back(std::move(outcome));
  }
  printer.clear();
  result.score = make_score(rules, work, speeds);
  // Where nothing runs there is no need for a table of zeros.
  if (result.score->earned() > 0.0) std::cout << "\n" << score_table(*result.score);
}

bool is_source_file(const std::string& solution) {
  return solution != "student" && solution != "reference";
}

std::filesystem::path program_to_check(const Options& options) {
  if (!options.program.empty()) return std::filesystem::absolute(options.program);
  return program_of(options.milestone, options.solution);
}

// `unbuilt` is why a given file became no program.
CheckRequest request_of(const CourseMilestone& milestone, const Options& options,
                        std::optional<Finding>& unbuilt) {
  CheckRequest request{
      .milestone = milestone.id, .solution = options.solution, .network = options.network};
  if (options.program.empty() && is_source_file(options.solution)) {
    const GivenFile file =
        build_given_file(options.solution, program_of(milestone.id, "student"), build_folder());
    request.program = file.program;
    unbuilt = file.finding;
  } else {
    request.program = program_to_check(options);
  }
  if (!options.stage.empty()) request.stage = options.stage;
  if (options.seed != 0) request.seed = options.seed;
  if (options.time_limit_s > 0.0) {
    constexpr double kMilliseconds = 1000.0;
    request.time_limit =
        std::chrono::milliseconds(static_cast<std::int64_t>(options.time_limit_s * kMilliseconds));
  }
  return request;
}

// Emulating 10 000 images takes a quarter of an hour; who wants that names the batch.
std::vector<int> usual_batches(const std::filesystem::path& program) {
  return has_emulation(program) && emulates(program) ? std::vector{100, 1000}
                                                     : std::vector{100, 1000, 10000};
}

Result failed_build(const CheckRequest& request, const Finding& finding) {
  return {.program = "grader check",
          .milestone = request.milestone,
          .solution = request.solution,
          .created = utc_now(),
          .machine = describe_machine(),
          .findings = {finding},
          .verdict = Verdict::kFailed};
}

void print_verdict(const Result& result, const std::filesystem::path& file) {
  const bool passed = result.verdict == Verdict::kPassed;
  std::cout << "\n"
            << (passed ? coloured("PASSED", Colour::kGood) : coloured("NOT PASSED", Colour::kBad))
            << "  Details: " << display_path(file) << "\n";
  if (!result.isolation.empty()) std::cout << paragraph("", result.isolation);
  if (result.runs.empty()) return;
  std::cout << coloured(
                   "Times: median ± half the interquartile range. Error: the worst element, "
                   "in units\nof 2^-24 · Σ|a||b|; fp32 may reach 32.",
                   Colour::kQuiet)
            << "\n";
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  std::vector<int> batches;
  if (!options.batches.empty()) batches = parse_batches(options.batches);
  if (!options.json.empty()) require_writable(options.json);
  load_preset(options.network);  // what is wrong with it is told before anything is built
  std::optional<Finding> unbuilt;
  CheckRequest request = request_of(milestone, options, unbuilt);
  const bool is_students = options.solution == "student" && options.program.empty();
  std::cout << "Checking " << milestone.id << ", " << milestone.title << ": "
            << (!options.program.empty()           ? display_path(request.program)
                : is_source_file(options.solution) ? options.solution
                                                   : "the " + options.solution + "'s solution")
            << std::endl;
  Printer printer;
  std::vector<SourceFile> sources;
  if (is_students) sources = describe_files(source_files(milestone));
  if (is_students && !options.no_build) {
    printer.observer().announce("building " + milestone.id);
    unbuilt = build_milestone(milestone);
    printer.clear();
  } else if (is_students && is_stale(milestone, request.program)) {
    sources.clear();  // the program was built from others
  }
  Result result;
  if (unbuilt) {
    result = failed_build(request, *unbuilt);
    printer.observer().found({}, *unbuilt);
  } else {
    request.batches = batches.empty() ? usual_batches(request.program) : batches;
    result = check(request, printer.observer());
  }
  printer.clear();
  if (std::filesystem::exists(milestone.folder / "scores.json")) {
    add_score(milestone, options, request, result, printer);
  }
  // Whoever saves while a check runs has not had that file checked.
  if (is_students && describe_files(source_files(milestone)) == sources) result.sources = sources;
  const std::filesystem::path file =
      options.json.empty() ? default_file(options) : std::filesystem::path(options.json);
  write_result(file, result);
  print_verdict(result, file);
  return result.verdict == Verdict::kPassed ? ExitCode::kPassed : ExitCode::kFallsShort;
}

}  // namespace

void add_check(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Checks a milestone: cases, network, times");
  command->add_option("MILESTONE", options->milestone, "m1, m2, …")->required();
  auto* stage = command->add_option("--stage", options->stage, "Only this stage");
  command->add_flag("--all", options->all, "Every stage (the default)")->excludes(stage);
  command->add_option("--batches", options->batches,
                      "Batches of the network, 1 to 10000 (default: 100,1000,10000, without the "
                      "last where a GPU is emulated)");
  command->add_option("--network", options->network, "Network preset")->capture_default_str();
  command
      ->add_option("--solution", options->solution,
                   "student, reference, or a source file: .cpp for m1, .cu for the others")
      ->capture_default_str();
  command->add_option("--json", options->json,
                      "File of the result (default: build/results/MILESTONE-SOLUTION.json, with "
                      "the stage if named)");
  command->add_flag("--no-speed", options->no_speed, "Do not measure the speeds that give points");
  command->add_flag("--no-build", options->no_build, "Check what was built last");
  add_seed(*command, options->seed, "Repeat the cases of an earlier check");
  command
      ->add_option("--time-limit", options->time_limit_s,
                   "Seconds that one convolution may take (default: from its size)")
      ->check(CLI::PositiveNumber);
  command->add_option("--program", options->program)->group("");  // for tests: another executable
  command->footer(
      "Examples:\n"
      "  build/bin/grader check m1\n"
      "  build/bin/grader check m1 --batches 100\n"
      "  build/bin/grader check m2 --solution submissions/new-forward.cu\n"
      "  build/bin/grader check m1 --solution reference --stage openmp --network fa18");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace convlab::grader
