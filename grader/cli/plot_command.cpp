#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "common/milestone/result.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/plots/roofline.hpp"

namespace convlab::grader {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string output;
};

ExitCode run(const Options& options) {
  std::vector<Result> results;
  for (const std::string& file : options.files) results.push_back(read_result(file));
  const auto folder =
      options.output.empty() ? build_folder() / "plots" : std::filesystem::path(options.output);
  const std::vector<std::string> networks = networks_of(results);
  if (networks.empty()) {
    std::cout
        << "There is nothing to plot: these results hold no op time of a stage that passed.\n";
    return ExitCode::kFallsShort;
  }
  for (const std::string& network : networks) {
    const std::optional<Ladder> ladder = make_ladder(results, network);
    if (!ladder) continue;
    for (const auto& file : draw(*ladder, folder)) std::cout << display_path(file) << "\n";
    const std::optional<Roofline> roofline = make_roofline(results, network);
    if (!roofline) continue;  // no GPU, or an older result without its limits
    for (const auto& file : draw(*roofline, folder)) std::cout << display_path(file) << "\n";
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_plot(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plot", "Draws op times, stage by stage (SVG, PDF, PNG)");
  command->add_option("RESULT", options->files, "Result files (.json)")->required();
  command->add_option("--output", options->output, "Folder of the plots (default: build/plots)");
  command->footer("Example:\n  build/bin/grader plot build/results/*.json --output build/plots");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace convlab::grader
