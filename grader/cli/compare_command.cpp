#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/plots/plotted_runs.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::compare_command {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string stage;
  bool by_file = false;
};

ExitCode run(const Options& options) {
  const std::vector<Result> results = read_results({options.files.begin(), options.files.end()});
  std::vector<std::string> names;
  for (const std::string& file : options.files) {
    names.push_back(std::filesystem::path(file).stem().string());
  }
  if (options.by_file && results.size() < 2) {
    throw UsageError("--by-file compares results with the first one; name two or more.");
  }
  const auto comparisons =
      compare(results, names, {.stage = options.stage, .by_file = options.by_file});
  if (comparisons.empty()) {
    std::cout << "There is nothing to compare: these results hold no op time of a stage that "
                 "passed.\n";
    return ExitCode::kFallsShort;
  }
  for (const Comparison& each : comparisons) {
    std::cout << coloured("network " + each.network + ", batch " + std::to_string(each.batch),
                          Colour::kStrong)
              << "\n"
              << plain_table(table_of(each)) << coloured(each.caption, Colour::kQuiet) << "\n\n";
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "compare", run);
  command.add_option("RESULT", options.files, "Result files (.json)")->required();
  auto* stage = command.add_option("--against", options.stage,
                                   "A stage (default: for each stage the one before it)");
  command
      .add_flag("--by-file", options.by_file,
                "The same stage in the first file: two versions, or two machines")
      ->excludes(stage);
  command.footer(
      "Verdict: faster or slower if the whole 95 % interval of the ratio lies on one\n"
      "side of 1, else undecided (docs/results.md).\n\n"
      "Examples:\n"
      "  build/bin/grader compare build/results/m4-student.json\n"
      "  build/bin/grader compare before.json after.json --by-file");
}

}  // namespace convlab::grader::compare_command
