#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_probe.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/course/way.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/pages/report.hpp"
#include "grader/report/pages/sweep.hpp"
#include "grader/report/plots/figure.hpp"
#include "grader/report/plots/result_figures.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::result_commands {

namespace {

namespace fs = std::filesystem;

struct PlotOptions {
  std::vector<std::string> files;
  std::string output;
  std::string batches;
};

ExitCode run_plot(const PlotOptions& options) {
  std::vector<Result> results = read_results({options.files.begin(), options.files.end()});
  if (!options.batches.empty()) {
    // A row for each stage and batch is too much for a ladder with thirty stages.
    const std::vector<int> batches = parse_batches(options.batches);
    for (Result& result : results) {
      std::erase_if(result.runs, [&](const RunResult& run) {
        return std::ranges::find(batches, run.batch) == batches.end();
      });
    }
  }
  const auto folder =
      options.output.empty() ? build_folder() / "plots" : std::filesystem::path(options.output);
  std::vector<Figure> figures;
  for (const std::string& network : networks_of(results)) {
    std::ranges::move(figures_of(results, network), std::back_inserter(figures));
  }
  if (figures.empty()) {
    std::cout
        << "There is nothing to plot: these results hold no op time of a stage that passed. An\n"
           "emulated run has none.\n";
    return ExitCode::kFallsShort;
  }
  for (const auto& file : draw(figures, folder)) std::cout << display_path(file) << "\n";
  return ExitCode::kPassed;
}

struct CompareOptions {
  std::vector<std::string> files;
  bool by_file = false;
};

ExitCode run_compare(const CompareOptions& options) {
  const std::vector<Result> results = read_results({options.files.begin(), options.files.end()});
  std::vector<std::string> names;
  for (const std::string& file : options.files) {
    names.push_back(std::filesystem::path(file).stem().string());
  }
  if (options.by_file && results.size() < 2) {
    throw UsageError("--by-file compares results with the first one; name two or more.");
  }
  const auto comparisons = compare(results, names, options.by_file);
  if (comparisons.empty()) {
    std::cout << "There is nothing to compare: these results hold no op time of a stage that\n"
                 "passed. An emulated run has none.\n";
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

struct ReportOptions {
  std::string milestone;
  std::vector<std::string> files;
  std::string output;
  std::string solution = "student";
};

// The results of a milestone's checks: that of all stages first, then those of single stages.
std::vector<fs::path> default_results(const ReportOptions& options) {
  const std::string stem = options.milestone + "-" + options.solution;
  std::set<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(results_folder(), missing)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".json" && (name == stem || name.starts_with(stem + "-"))) {
      found.insert(entry.path());
    }
  }
  if (found.empty()) throw nothing_checked(options.milestone);
  return {found.begin(), found.end()};
}

/// Of all convolutions at 1000 images; empty: it has no times.
std::optional<ComparedStage> measured(const ReportSource& source, const std::string& stage) {
  constexpr int kBatch = 1000;
  std::optional<ComparedStage> found;
  for (const Comparison& each : compare(source.results, source.names)) {
    const auto own =
        std::ranges::find(each.stages, source.milestone + " " + stage, &ComparedStage::name);
    if (each.batch == kBatch && own != each.stages.end()) found = *own;
  }
  return found;
}

std::string limits_text(const ComparedStage& stage) {
  if (!stage.compute_percent || !stage.memory_percent) return "not measured";
  return "arithmetic at " + percent(*stage.compute_percent / 100.0) + " of its peak, memory at " +
         percent(*stage.memory_percent / 100.0);
}

// What the student noted: predictions, and answers to the chapter's questions.
void add_notes(const CourseMilestone& milestone, ReportSource& source) {
  const Notebook notebook = read_notebook(milestone);
  const auto noted = [](const auto& notes, const std::string& key) {
    const auto found = notes.find(key);
    using Value = typename std::remove_cvref_t<decltype(notes)>::mapped_type;
    return found == notes.end() ? Value{} : found->second;
  };
  const auto number = [](double value) {
    return value > 0.0 ? three_digits(value) : "not measured";
  };
  PageSection predictions{.title = "Predicted and measured"};
  for (const auto& [stage, slip] : notebook.predictions) {
    const Counted counted = noted(notebook.explained, stage);
    const ComparedStage timed = measured(source, stage).value_or(ComparedStage{});
    Table table{.heading = {"", "predicted", "measured"}};
    const auto compare = [&](const char* what, double predicted, double measured) {
      if (predicted > 0.0) {
        table.rows.push_back({what, three_digits(predicted), number(measured)});
      }
    };
    table.rows = {{"limit", slip.limiter, limits_text(timed)}};
    compare("loads for each multiply-add", slip.loads, counted.loads);
    compare("loads of each input", slip.inputs, counted.inputs);
    compare("op time at 1000 images, ms", slip.op_ms, timed.sum_ms);
    predictions.blocks.push_back(Paragraph{stage + ", because: " + slip.reason});
    predictions.blocks.push_back(table);
    predictions.blocks.push_back(
        OpenQuestion{stage + ": what explains the difference?", noted(notebook.answers, stage)});
  }
  auto known = known_numbers(source.results, source.sweeps);
  for (const ShownNumber& each : notebook.numbers) {
    known.push_back({each.value, each.what + ", " + date_of(each.shown)});
  }
  PageSection chapter{.title = "Questions of the chapter"};
  for (const ChapterQuestion& each : chapter_questions(read_text(milestone.folder / "README.md"))) {
    const std::string answer = noted(notebook.answers, each.number);
    chapter.blocks.push_back(OpenQuestion{each.number + ". " + each.text, answer});
    if (answer.empty()) continue;
    const std::string found = found_numbers(answer, known);
    if (!found.empty()) {
      chapter.blocks.push_back(Paragraph{"Checked: " + found});
    } else if (each.needs == "yours") {
      chapter.blocks.push_back(Paragraph{"Checked: it names no number of these results."});
    }
  }
  for (PageSection* each : {&predictions, &chapter}) {
    if (!each->blocks.empty()) source.notes.push_back(std::move(*each));
  }
}

fs::path sweep_file(const std::string& stage) {
  return build_folder() / "sweeps" / (stage + ".sweep.json");
}

std::vector<SweepSpace> sweep_spaces(const CourseMilestone& milestone) {
  const fs::path file = milestone.folder / "sweeps.json";
  return fs::exists(file) ? read_sweep_spaces(file) : std::vector<SweepSpace>{};
}

ExitCode run_report(const ReportOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  require_solution(options.solution);
  const fs::path folder =
      options.output.empty() ? build_folder() / "reports" / milestone.id : fs::path(options.output);
  require_writable(folder / "report.html");
  ReportSource source{.milestone = milestone.id, .title = milestone.title};
  std::vector<fs::path> files(options.files.begin(), options.files.end());
  if (files.empty()) files = default_results(options);
  source.results = read_results(files);
  for (const fs::path& file : files) source.names.push_back(file.stem().string());
  source.mistakes = mended_mistakes(read_history(history_file()), milestone.id);
  // The mistake of a repair is not the student's, and work that was not begun is none.
  std::erase_if(source.mistakes, [&](const MendedMistake& each) {
    return each.id == "E-not-implemented" || is_repair(milestone, each.stage);
  });
  for (const SweepSpace& space : sweep_spaces(milestone)) {
    if (!fs::exists(sweep_file(space.stage))) continue;
    std::ranges::move(tables_of(space, read_sweep_record(sweep_file(space.stage))),
                      std::back_inserter(source.sweeps));
  }
  if (options.solution == "student") add_notes(milestone, source);
  const Page page = make_report(source);
  draw(figures_of(page), folder / "plots");
  write_atomically(folder / "report.md", markdown_of(page));
  write_atomically(folder / "report.html", html_of(page, course_folder() / "grader/report/pages"));
  std::cout
      << display_path(folder / "report.md") << "\n"
      << display_path(folder / "report.html") << "\n"
      << paragraph(
             "Next: ",
             "answer the questions that are marked (TODO in report.md); those of the chapter also "
             "with build/bin/grader answer " +
                 milestone.id + ".");
  return ExitCode::kPassed;
}

struct SweepOptions {
  std::string stage;
  std::string batches = "100,1000,10000";
  std::string network = kDefaultPreset;
  std::string solution = "student";
  std::string device = "auto";
  std::string launcher = "local";
};

// @throws UsageError that lists the stages with a space
std::pair<CourseMilestone, SweepSpace> find_sweep(const std::string& stage) {
  std::vector<std::string> known;
  for (const CourseMilestone& milestone : milestones()) {
    for (const SweepSpace& space : sweep_spaces(milestone)) {
      if (space.stage == stage) return {milestone, space};
      known.push_back(space.stage);
    }
  }
  throw UsageError(unknown_name("stage", stage, known, " with parameters in a sweeps.json"));
}

void print_tables(const SweepSpace& space, const SweepRecord& record) {
  for (const SweepTable& table : tables_of(space, record)) {
    std::cout << "\n" << paragraph("", table.text) << plain_table(table.cells);
  }
}

ExitCode run_sweep(const SweepOptions& options) {
  if (options.launcher == "slurm") return run_as_slurm_job(own_words_without_launcher());
  const auto [milestone, space] = find_sweep(options.stage);
  const std::optional<std::string> gpu =
      options.device == "emulated" ? std::nullopt : answering_gpu();
  if (options.device == "gpu" && !gpu) {
    throw EnvironmentError("No GPU answers; without --device the sweep counts instead of timing.");
  }
  const std::vector<int> batches = parse_batches(options.batches);
  const auto shapes = load_preset(options.network).conv_shapes(1);
  const auto file = sweep_file(space.stage);
  SweepRecord record{.stage = space.stage, .network = options.network, .gpu = gpu.value_or("")};
  if (!gpu) {
    std::cout << "No GPU is used, so nothing runs: the points are ranked by counted loads. That\n"
                 "rules out points; only a GPU can show which of the rest is fastest.\n";
    // What a GPU measured says more.
    if (!fs::exists(file)) write_sweep_record(file, record);
    print_tables(space, record);
    return ExitCode::kPassed;
  }
  if (options.solution == "student") {
    if (const std::optional<Finding> failed = build_milestone(milestone)) {
      std::cout << finding_text(*failed);
      return ExitCode::kFallsShort;
    }
  }
  ProgressLine progress;
  wait_for_quiet_gpu([&](const std::string& text) { progress.show(text); });
  for (const int batch : batches) {
    for (const SweepPoint& point : points_of(space)) {
      TriedPoint& tried = record.tried.emplace_back(TriedPoint{.batch = batch, .point = point});
      const std::string name = text_of(point) + " at " + std::to_string(batch) + " images";
      progress.show(name);
      time_point(program_of(milestone.id, options.solution), space, shapes, tried);
      progress.clear();
      if (!tried.failure.empty()) std::cout << paragraph(name + ": ", tried.failure);
      write_sweep_record(file, record);
    }
  }
  print_tables(space, record);
  return ExitCode::kPassed;
}

}  // namespace

void add_plot(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "plot", run_plot);
  command.add_option("RESULT", options.files, "Result files (.json)")->required();
  command.add_option("--output", options.output, "Folder of the plots (default: build/plots)");
  command.add_option("--batches", options.batches,
                     "Only these batches (default: all in the results)");
  command.footer(
      "For each network in the results, each as SVG, PDF and PNG:\n"
      "  op-time-NETWORK   op times, stage by stage\n"
      "  speed-up-NETWORK  every stage against its baseline\n"
      "  roofline-NETWORK  stages under the limits of the GPU, if known\n\n"
      "Examples:\n"
      "  build/bin/m1 1000 --json build/m1.json\n"
      "  build/bin/grader plot build/m1.json\n"
      "  build/bin/grader plot reference/results/*.json --batches 10000");
}

void add_compare(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "compare", run_compare);
  command.add_option("RESULT", options.files, "Result files (.json)")->required();
  command.add_flag("--by-file", options.by_file,
                   "The same stage in the first file: two versions, or two machines (default: "
                   "each stage with the one before it)");
  command.footer(
      "Verdict: faster or slower if the whole 95 % interval of the ratio lies on one\n"
      "side of 1, else undecided (docs/results.md).\n\n"
      "Examples:\n"
      "  build/bin/grader compare build/results/m4-student.json\n"
      "  build/bin/grader compare before.json after.json --by-file");
}

void add_report(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "report", run_report);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("RESULT", options.files,
                     "Result files (default: build/results/MILESTONE-SOLUTION*.json)");
  command.add_option("--output", options.output, "Folder (default: build/reports/MILESTONE)");
  command.add_option("--solution", options.solution, "student or reference")
      ->check(CLI::IsMember({"student", "reference"}))
      ->capture_default_str();
  command.footer(
      "Writes report.md, to edit, and report.html, which works offline.\n\n"
      "Examples:\n"
      "  build/bin/grader report m4\n"
      "  build/bin/grader report m4 reference/results/nvidia-h200.m*.json");
}

void add_sweep(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "sweep", run_sweep);
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
  add_launcher(command, options.launcher);
  command.footer(
      "Keeps the times in build/sweeps, where `report` finds them.\n\n"
      "Examples:\n"
      "  build/bin/grader sweep sweep-tuned\n"
      "  build/bin/grader sweep sweep-tuned --batches 10000\n"
      "  build/bin/grader sweep sweep-tuned --device emulated");
}

}  // namespace convlab::grader::result_commands
