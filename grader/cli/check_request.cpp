#include "grader/cli/check_request.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/program/arguments.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/course/build.hpp"
#include "grader/course/handout.hpp"
#include "grader/course/sources.hpp"

namespace convlab::grader::check_command {

namespace {

bool runs_on_cpu(const CourseMilestone& milestone) {
  return milestone.id == "m1";
}

void use(CustomSubmission file, GradeRequest& request) {
  request.build_emulated = std::move(file.build_emulated);
  request.build_traced = std::move(file.build_traced);
  request.program = std::move(file.program);
  request.device = file.device;
  request.unbuilt = std::move(file.finding);
  request.warnings = std::move(file.warnings);
  request.sources = std::move(file.sources);
}

// The files that milestones/CMakeLists.txt compiles: one file for m1 and m2, for the others each
// file in the folder or in stages/, without puzzles. For a single stage only its file: compiling
// all of m4 takes far longer than checking a stage.
SubmittedSources students_sources(const CourseMilestone& milestone, const std::string& stage) {
  const bool has_one = milestone.id == "m1" || milestone.id == "m2";
  if (source_files(milestone).empty()) {
    throw UsageError("There is no file to check in " + display_path(milestone.folder) +
                     "; build/bin/grader reset " + milestone.id + " puts it back as handed out.");
  }
  SubmittedSources all = sources_of(milestone.folder, runs_on_cpu(milestone));
  auto one = has_one || !stage.empty() ? file_of_stage(milestone.folder, stage) : std::nullopt;
  // A copy of the exercise may have any name.
  if (one && !has_one && one->stem() == "conv_forward") one.reset();
  std::erase_if(all.sources, [&](const std::filesystem::path& file) {
    const auto place = file.parent_path();
    return one ? file != *one : place != milestone.folder && place != milestone.folder / "stages";
  });
  // Of a choice of stages only those that were begun.
  if (!one && std::filesystem::exists(milestone.folder / "stages")) {
    const auto handed_out = handout_files(milestone);
    std::erase_if(all.sources, [&](const std::filesystem::path& file) {
      return std::ranges::any_of(handed_out, [&](const HandoutFile& each) {
        return course_folder() / each.path == file && is_as_handed_out(each);
      });
    });
    if (all.sources.empty()) {
      throw Error(ExitCode::kFallsShort,
                  "No stage of " + milestone.id + " is begun. Next: build/bin/grader next");
    }
  }
  if (all.sources.empty()) {
    throw UsageError("There is no file to check in " + display_path(milestone.folder) + ".");
  }
  return all;
}

}  // namespace

void build_students_work(const CourseMilestone& milestone, const std::string& stage,
                         GradeRequest& request) {
  // A tree without the parts, as in tests, has only the program that CMake builds.
  if (!std::filesystem::exists(build_folder() / "custom_submission")) {
    request.unbuilt = build_milestone(milestone);
    return;
  }
  build_custom_submission_parts(runs_on_cpu(milestone));
  use(build_custom_submissions(students_sources(milestone, stage), runs_on_cpu(milestone),
                               build_folder()),
      request);
}

namespace {

// The grader finds the precision of a course file; that of a stage stands in the milestone's table.
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
bool score_custom_submission(ScoreRequest& score) {
  auto& items = score.rules.items;
  const std::string stage = items.front().stage;
  if (std::ranges::any_of(items, [&](const ScoreRule& rule) { return rule.stage != stage; })) {
    return false;
  }
  for (ScoreRule& rule : items) rule.stage = "source";
  return true;
}

}  // namespace

GradeRequest request_of(const CourseMilestone& milestone, const Options& options) {
  GradeRequest request{.milestone = milestone.id,
                       .solution = printable_line(options.solution),
                       .network = options.network};
  if (options.program.empty() && is_source_file(options.solution)) {
    const bool on_cpu = runs_on_cpu(milestone);
    const SubmittedSources sources = sources_of(options.solution, on_cpu);
    if (!has_custom_submission_parts(on_cpu)) build_custom_submission_parts(on_cpu);
    CustomSubmission file =
        build_custom_submissions(sources, on_cpu, build_folder(), options.libraries);
    request.form = file.form;
    use(std::move(file), request);
  } else {
    request.program = options.program.empty() ? program_of(options.milestone, options.solution)
                                              : std::filesystem::absolute(options.program);
  }
  request.rules = parse_rules(options.rules);
  request.precision = precision_of(options, request.form);
  request.refused = {options.refused.begin(), options.refused.end()};
  if (!options.stage.empty()) request.stage = options.stage;
  if (!options.times_of.empty()) request.checked = read_check_result(options.times_of);
  if (!options.batches.empty()) request.batches = parse_batches(options.batches);
  if (options.seed != 0) request.seed = options.seed;
  if (!options.only_case.empty()) request.only_case = parse_case(options.only_case);
  if (options.time_limit_s > 0.0) {
    constexpr double kMilliseconds = 1000.0;
    request.time_limit =
        std::chrono::milliseconds(static_cast<std::int64_t>(options.time_limit_s * kMilliseconds));
  }
  if (std::filesystem::exists(milestone.folder / "scores.json")) {
    request.score = {.rules = load_score_rules(milestone.folder),
                     .reference = program_of(milestone.id, "reference"),
                     .measures_speed = !options.no_speed};
    if (request.form != FileInterface::kStages && !score_custom_submission(*request.score)) {
      request.score.reset();
    }
  }
  if (request.only_case) request.score.reset();
  return request;
}

}  // namespace convlab::grader::check_command
