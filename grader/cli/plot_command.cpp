#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <set>

#include "common/base/error.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/plots/gnuplot.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader::plot_command {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string output;
  std::string batches;
  std::vector<std::string> stages;
};

// Keeps the runs for which `keep` returns true.
void keep_only(std::vector<Result>& results,
               const std::function<bool(const Result&, const RunResult&)>& keep) {
  for (Result& result : results) {
    std::erase_if(result.runs, [&](const RunResult& run) { return !keep(result, run); });
  }
}

// Stages as they are written on the command line: `roofline`, or `m2/baseline` where several
// milestones have one.
void keep_stages(std::vector<Result>& results, const std::vector<std::string>& wanted) {
  std::set<std::string> known;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      known.insert({run.stage.id, result.milestone + "/" + run.stage.id});
    }
  }
  for (const std::string& stage : wanted) {
    if (known.count(stage) != 0) continue;
    std::string list;
    for (const std::string& each : known) {
      if (each.find('/') == std::string::npos) list += (list.empty() ? "" : ", ") + each;
    }
    throw UsageError("These results hold no stage '" + stage + "'; they hold: " + list + ".");
  }
  keep_only(results, [&](const Result& result, const RunResult& run) {
    return std::ranges::any_of(wanted, [&](const std::string& stage) {
      return stage == run.stage.id || stage == result.milestone + "/" + run.stage.id;
    });
  });
}

ExitCode run(const Options& options) {
  std::vector<Result> results = read_results({options.files.begin(), options.files.end()});
  if (!options.stages.empty()) keep_stages(results, options.stages);
  std::vector<Result> rows = results;
  if (!options.batches.empty()) {
    // A row for each stage and batch is too much for a ladder with thirty stages.
    keep_only(rows, [batches = parse_batches(options.batches)](const auto&, const RunResult& run) {
      return std::ranges::find(batches, run.batch) != batches.end();
    });
  }
  const auto folder =
      options.output.empty() ? build_folder() / "plots" : std::filesystem::path(options.output);
  std::vector<Figure> figures;
  for (const std::string& network : networks_of(rows)) {
    std::ranges::move(figures_of(results, rows, network), std::back_inserter(figures));
  }
  if (figures.empty()) {
    std::cout
        << "There is nothing to plot: these results hold no op time of a stage that passed.\n";
    return ExitCode::kFallsShort;
  }
  for (const auto& file : draw(figures, folder)) std::cout << display_path(file) << "\n";
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "plot", run);
  command.add_option("RESULT", options.files, "Result files (.json)")->required();
  command.add_option("--output", options.output, "Folder of the plots (default: build/plots)");
  command.add_option("--batches", options.batches,
                     "Batches of op-time and speed-up (default: all in the results)");
  command
      .add_option("--stages", options.stages,
                  "These stages only, for a slide: ID or m2/ID, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.footer(
      "For each network in the results, each as SVG, PDF and PNG:\n"
      "  op-time-NETWORK   op times, stage by stage\n"
      "  speed-up-NETWORK  every stage against its baseline\n"
      "  roofline-NETWORK  stages under the limits of the GPU, if known\n\n"
      "Examples:\n"
      "  build/bin/m1 1000 --json build/m1.json\n"
      "  build/bin/grader plot build/m1.json\n"
      "  build/bin/grader plot reference/results/*.json --batches 10000\n"
      "  build/bin/grader plot reference/results/*.json --stages m2/baseline,roofline");
}

}  // namespace convlab::grader::plot_command
