#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_probe.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/build.hpp"
#include "grader/course/course.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/course/stop_signals.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/pages/sweep_tables.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::sweep_command {

namespace {

struct Options {
  std::string stage;
  std::string batches = "100,1000,10000";
  std::string network = kDefaultPreset;
  std::string solution = "student";
  std::string device = "auto";
  std::string output;
  int repeats = 10;
  std::string launcher = "local";
};

struct DeclaredSweep {
  CourseMilestone milestone;
  SweepSpace space;
};

// @throws UsageError that lists the stages with a space
DeclaredSweep find_sweep(const std::string& stage) {
  std::vector<std::string> known;
  for (const CourseMilestone& milestone : milestones()) {
    const auto file = milestone.folder / "sweeps.json";
    if (!std::filesystem::exists(file)) continue;
    for (const SweepSpace& space : read_sweep_spaces(file)) {
      if (space.stage == stage) return {milestone, space};
      known.push_back(space.stage);
    }
  }
  throw UsageError(unknown_name("stage", stage, known, " with parameters in a sweeps.json"));
}

void print_tables(const SweepPlan& plan, const SweepRecord& record) {
  for (const SweepTable& table : tables_of(plan, record).tables) {
    std::cout << "\n"
              << paragraph("", "Sweep of " + plan.space.stage + ", " + table.title + ": " +
                                   table.unit + "; in brackets the other parameters")
              << plain_table(cells_of(plan.space, table));
    if (!table.scored.empty()) std::cout << "Best: " << table.best() << "\n";
    for (const std::string& line : table.left_out) std::cout << paragraph("Left out, ", line);
  }
}

ExitCode run(const Options& options) {
  if (options.launcher == "slurm") return run_as_slurm_job(own_words_without_launcher());
  const auto [milestone, space] = find_sweep(options.stage);
  const std::optional<std::string> gpu =
      options.device == "emulated" ? std::nullopt : answering_gpu();
  if (options.device == "gpu" && !gpu) {
    throw EnvironmentError("No GPU answers; without --device the sweep counts instead of timing.");
  }
  const auto folder =
      options.output.empty() ? build_folder() / "sweeps" : std::filesystem::path(options.output);
  SweepPlan plan{.space = space,
                 .program = program_of(milestone.id, options.solution),
                 .network = options.network,
                 .gpu = gpu.value_or(""),
                 .batches = parse_batches(options.batches),
                 .shapes = load_preset(options.network).conv_shapes(1),
                 .repeats = options.repeats,
                 .interrupted = &stop_asked};
  const auto file = folder / (space.stage + ".sweep.json");
  require_writable(file);
  if (!gpu) {
    std::cout << "No GPU is used, so nothing runs: the points are ranked by counted loads. That\n"
                 "rules out points; only a GPU can show which of the rest is fastest.\n";
    const SweepRecord counted{.stage = space.stage, .network = options.network};
    // What a GPU measured says more.
    if (!std::filesystem::exists(file)) write_sweep_record(file, counted);
    print_tables(plan, counted);
    return ExitCode::kPassed;
  }
  if (options.solution == "student") {
    if (const std::optional<Finding> failed = build_milestone(milestone)) {
      std::cout << finding_text(*failed);
      return ExitCode::kFallsShort;
    }
  }
  SweepRecord record = continued_record(file, plan);
  if (!record.tried.empty()) {
    std::cout << "Going on after " << record.tried.size() << " of " << work_of(plan).size()
              << " points (" << display_path(file) << "; remove it to begin anew).\n";
  }
  stop_on_signals();
  ProgressLine progress;
  const auto announce = [&](const std::string& text) { progress.show(text); };
  wait_for_quiet_gpu(announce);
  const bool finished = run_sweep(plan, file, record, announce);
  progress.clear();
  if (!finished) {
    std::cout << "Stopped after " << record.tried.size() << " of " << work_of(plan).size()
              << " points; the same command goes on.\n";
    return ExitCode::kPassed;
  }
  print_tables(plan, record);
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "sweep", run);
  command.add_option("STAGE", options.stage, "A stage that sweeps.json declares")->required();
  command.add_option("--batches", options.batches, "Batches to time")->capture_default_str();
  command.add_option("--network", options.network, "Network preset")->capture_default_str();
  command.add_option("--solution", options.solution, "student or reference")
      ->check(CLI::IsMember({"student", "reference"}))
      ->capture_default_str();
  command
      .add_option("--device", options.device,
                  "gpu: by time; emulated: by counted loads; auto: a GPU if one answers")
      ->check(CLI::IsMember({"auto", "gpu", "emulated"}))
      ->capture_default_str();
  command.add_option("--repeats", options.repeats, "Samples of each op time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--output", options.output, "Folder of the record (default: build/sweeps)");
  add_launcher(command, options.launcher);
  command.footer(
      "Leaves out points that cannot be good, and says why. After Ctrl-C the same\n"
      "command continues, unless the program was rebuilt.\n\n"
      "Examples:\n"
      "  build/bin/grader sweep sweep-tuned\n"
      "  build/bin/grader sweep sweep-tuned --batches 10000\n"
      "  build/bin/grader sweep sweep-tuned --device emulated");
}

}  // namespace convlab::grader::sweep_command
