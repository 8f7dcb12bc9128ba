#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/cli/print_json.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/plots/op_by_batch.hpp"
#include "grader/plots/roofline.hpp"

namespace convlab::grader::plot_command {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string output;
  std::string batches;
  bool json = false;
};

// A row for each stage and batch is too much of a ladder with thirty stages.
std::vector<Result> with_batches(std::vector<Result> results, const std::vector<int>& batches) {
  for (Result& result : results) {
    std::erase_if(result.runs, [&](const RunResult& run) {
      return std::find(batches.begin(), batches.end(), run.batch) == batches.end();
    });
  }
  return results;
}

ExitCode run(const Options& options) {
  const std::vector<Result> results = read_results({options.files.begin(), options.files.end()});
  const auto folder =
      options.output.empty() ? build_folder() / "plots" : std::filesystem::path(options.output);
  const std::vector<Result> rows =
      options.batches.empty() ? results : with_batches(results, parse_batches(options.batches));
  const std::vector<std::string> networks = networks_of(rows);
  if (networks.empty()) {
    std::cout
        << "There is nothing to plot: these results hold no op time of a stage that passed.\n";
    return ExitCode::kFallsShort;
  }
  auto drawn = nlohmann::ordered_json::array();
  const auto add = [&](const auto& plot) {
    if (!plot) return;  // these results have nothing for it
    for (const auto& file : draw(*plot, folder)) {
      drawn.push_back(file.string());
      if (!options.json) std::cout << display_path(file) << "\n";
    }
  };
  for (const std::string& network : networks) {
    add(make_ladder(rows, network));
    add(make_steps(rows, network));
    add(make_op_by_batch(results, network));
    add(make_roofline(results, network));
  }
  if (options.json) print_json({{"files", drawn}});
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plot", "Draws op times, speed-ups and a roofline");
  command->add_option("RESULT", options->files, "Result files (.json)")->required();
  command->add_option("--output", options->output, "Folder of the plots (default: build/plots)");
  command->add_option("--batches", options->batches,
                      "Batches of op-time and speed-up (default: all in the results)");
  command->add_flag("--json", options->json, "Print the names of the files as JSON");
  command->footer(
      "For each network in the results, each as SVG, PDF and PNG:\n"
      "  op-time-NETWORK      op times, stage by stage\n"
      "  speed-up-NETWORK     every stage against its baseline\n"
      "  op-by-batch-NETWORK  op time against batch, if there are several\n"
      "  roofline-NETWORK     stages under the limits of the GPU, if known\n\n"
      "Examples:\n"
      "  build/bin/m1 1000 --all --solution reference --json build/m1.json\n"
      "  build/bin/grader plot build/m1.json\n"
      "  build/bin/grader plot reference/results/*.json --batches 10000");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace convlab::grader::plot_command
