#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"
#include "common/program/arguments.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/course.hpp"
#include "grader/measure/stage_steps.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/show/show.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::show_command {

namespace {

namespace fs = std::filesystem;

struct Options : CountedOptions {
  std::string block;
  std::string kernel;
  std::string only_case;
  fs::path output;
  std::int64_t first = 0;
  bool json = false;
};

// "2", "2,1" or "2,1,0".
std::array<unsigned, 3> parse_block(const std::string& text) {
  const std::vector<int> numbers = parse_numbers(text);
  std::array<unsigned, 3> block{};
  if (numbers.empty() || numbers.size() > block.size()) {
    throw UsageError("--block takes X, X,Y or X,Y,Z, for example 2,0,1; this is " +
                     printable_line(text) + ".");
  }
  std::ranges::copy(numbers, block.begin());
  return block;
}

SourceText sources_of_steps(const TracedStage& traced, const StepNotes& notes) {
  std::set<std::string> files = {notes.file};
  for (const StepPlace& place : notes.places) files.insert(place.file);
  return used_sources(traced, files);
}

std::string nothing_text(const StepNotes& notes, const Options& options) {
  if (notes.kernel.empty()) {
    return "The stage launches no kernel" +
           (options.block.empty() ? std::string() : " that has a block " + options.block) +
           ", so there is nothing to see.";
  }
  const std::string block = std::to_string(notes.block[0]) + "," + std::to_string(notes.block[1]) +
                            "," + std::to_string(notes.block[2]);
  if (options.first > 0) {
    return "Block " + block + " of " + notes.kernel + " has " + std::to_string(notes.first) +
           " steps, so --first " + std::to_string(options.first) + " leaves none.";
  }
  return "Block " + block + " of " + notes.kernel +
         " touches no memory. Name another one with --block or --kernel.";
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  WantedBlock wanted{.kernel = options.kernel, .first = options.first};
  if (!options.block.empty()) wanted.block = parse_block(options.block);
  std::optional<ConvShape> one_case;
  if (!options.only_case.empty()) one_case = parse_case(options.only_case);
  const CountedWork work = counted_work(milestone, options);
  if (!options.output.empty()) require_writable(options.output);
  ProgressLine progress;
  const TracedStage traced = traced_stage(work, progress);
  StageSteps steps{.finding = traced.finding};
  if (!traced.finding) {
    progress.show("recording one block");
    steps = record_stage(*traced.submission, traced.stage, one_case.value_or(traced.shape), wanted);
  }
  progress.clear();
  if (!steps.notes.steps.empty()) {
    const SourceText sources = sources_of_steps(traced, steps.notes);
    const std::string id = steps.stage.id;
    const std::string where =
        "Recorded on the emulated device, in " +
        (one_case || work.shape
             ? "one convolution"
             : "convolution " + std::to_string(traced.layer) + " of " + options.network) +
        ": " + to_string(steps.shape) + ".";
    fs::path page = options.output;
    if (page.empty() && !options.json) {
      fs::create_directories(build_folder() / "show");
      page = build_folder() / "show" / (milestone.id + "-" + id + ".html");
    }
    if (options.json) {
      std::cout << json_text(steps_json(steps, sources)) << "\n";
    } else {
      std::cout << coloured(id, Colour::kStrong) << "  "
                << display_path(work.submitted.sources.front()) << "\n"
                << paragraph("", where) << steps_text(steps, sources);
    }
    if (!page.empty()) {
      write_atomically(page, steps_page(steps, sources, milestone.id + ", " + id, where,
                                        course_folder() / "grader/report/show"));
    }
    if (!options.json) std::cout << "\nOpen this page in a browser: " << display_path(page) << "\n";
  } else if (!steps.finding) {
    throw Error(ExitCode::kFallsShort, nothing_text(steps.notes, options));
  }
  // JSON stays JSON.
  if (steps.finding) (options.json ? std::cerr : std::cout) << "\n" << finding_text(*steps.finding);
  if (steps.finding) return ExitCode::kFallsShort;
  if (steps.wrong.empty() && steps.unwritten.empty()) return ExitCode::kPassed;
  if (!options.json) {
    std::cout << "Next: " << grader_command("check", milestone.id, options.stage)
              << (options.solution == "student" ? "" : " --solution " + options.solution)
              << " says why.\n";
  }
  return ExitCode::kFallsShort;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "show", run);
  add_counted_options(command, options);
  command.add_option("--block", options.block,
                     "The block, as X,Y,Z (default: where a fault or a race is, or 0,0,0)");
  command.add_option("--kernel", options.kernel,
                     "The kernel, if the stage launches several (default: the last)");
  command.add_option("--case", options.only_case,
                     "Another convolution: B,M,C,H,W,K or B,M,C,H,W,K,S, as a finding prints it");
  command.add_option("--first", options.first, "Leave out so many steps at the beginning")
      ->check(CLI::Range(0, 10'000'000));
  command.add_option("--output", options.output, "The page (default: in build/show)");
  command.add_flag("--json", options.json, "Print the steps as JSON instead");
  command.footer(
      "Builds the file so that the emulated device sees each access, and runs one\n"
      "image. The file need not be right. docs/profile.md says what the page shows.\n\n"
      "Examples:\n"
      "  build/bin/grader show m3\n"
      "  build/bin/grader show m3 --block 2,0,0 --layer 1 --output tile.html\n"
      "  build/bin/grader show m4 --stage fused-gemm --case 1,4,1,12,12,3");
}

}  // namespace convlab::grader::show_command
