#include <CLI/CLI.hpp>
#include <vector>

#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"

namespace convlab::grader {

std::string passed_stage(const CountedOptions& options, const CourseMilestone& milestone) {
  if (!options.stage.empty()) require_stage(milestone, options.stage);
  std::vector<std::string> passed;
  for (const Progress& each : progress_of(milestone)) {
    const bool is_asked = options.stage.empty() || each.stage.id == options.stage;
    if (is_asked && each.state == State::kPassed && !each.changed) passed.push_back(each.stage.id);
  }
  if (passed.size() > 1) throw name_a_stage(milestone);
  if (passed.size() == 1) return passed.front();
  throw Error(ExitCode::kFallsShort,
              "explain shows what a file that has passed does, and " +
                  (options.stage.empty() ? "none of " + milestone.id + " has passed"
                                         : options.stage + " has not passed") +
                  " as it is now. Next: " + grader_command("check", milestone.id, options.stage));
}

namespace {

// A command that builds a file to be traced.
template <class Options>
std::pair<CLI::App&, Options&> add_counted(CLI::App& app, ExitCode& exit_code,
                                           const std::string& name,
                                           ExitCode (*run)(const Options&)) {
  auto added = add_command(app, exit_code, name, run);
  auto& [command, options] = added;
  command.add_option("MILESTONE", options.milestone)->required();
  command.add_option("--stage", options.stage);
  command.add_option("--solution", options.solution)->capture_default_str();
  command.add_option("--layer", options.layer)->check(CLI::Range(1, 64));
  command.add_option("--network", options.network)->capture_default_str();
  return added;
}

// The option --solution of a command that takes no file.
void add_solution(CLI::App& command, std::string& solution) {
  command.add_option("--solution", solution)
      ->check(CLI::IsMember({"student", "reference"}))
      ->capture_default_str();
}

}  // namespace

void add_views(CLI::App& app, ExitCode& exit_code, const Views& views) {
  add_counted(app, exit_code, "explain", views.explain);
  auto [profile, profile_options] = add_counted(app, exit_code, "profile", views.profile);
  profile.add_option("--output", profile_options.output);
  profile.add_flag("--json", profile_options.prints_json);
  add_launcher(profile, profile_options.launcher);
  auto [show, show_options] = add_counted(app, exit_code, "show", views.show);
  show.add_option("--block", show_options.block);
  show.add_option("--kernel", show_options.kernel);
  show.add_option("--case", show_options.only_case);
  show.add_option("--output", show_options.output);
  auto [plot, plot_options] = add_command(app, exit_code, "plot", views.plot);
  plot.add_option("RESULT", plot_options.files)->required();
  plot.add_option("--output", plot_options.output);
  plot.add_option("--batches", plot_options.batches);
  auto [sweep, sweep_options] = add_command(app, exit_code, "sweep", views.sweep);
  sweep.add_option("STAGE", sweep_options.stage)->required();
  sweep.add_option("--batches", sweep_options.batches)->capture_default_str();
  sweep.add_option("--network", sweep_options.network)->capture_default_str();
  add_solution(sweep, sweep_options.solution);
  sweep.add_option("--device", sweep_options.device)
      ->check(CLI::IsMember({"auto", "emulated"}))
      ->capture_default_str();
  add_launcher(sweep, sweep_options.launcher);
  auto [compare, compare_options] = add_command(app, exit_code, "compare", views.compare);
  compare.add_option("RESULT", compare_options.files)->required();
  compare.add_flag("--by-file", compare_options.by_file);
  auto [report, report_options] = add_command(app, exit_code, "report", views.report);
  report.add_option("MILESTONE", report_options.milestone)->required();
  report.add_option("RESULT", report_options.files);
  report.add_option("--output", report_options.output);
  add_solution(report, report_options.solution);
}

}  // namespace convlab::grader
