#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/way.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/pages/report.hpp"
#include "grader/report/plots/gnuplot.hpp"
#include "grader/report/plots/result_figures.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::report_command {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string milestone;
  std::vector<std::string> files;
  std::string output;
  std::string solution = "student";
  bool no_plots = false;
};

// The results of a milestone's checks: that of all stages first, then those of single stages.
std::vector<fs::path> default_results(const Options& options) {
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
  for (const Comparison& each : compare(source.results, source.names, {})) {
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
    source.predictions.push_back({.stage = stage,
                                  .reason = slip.reason,
                                  .table = table,
                                  .sentence = noted(notebook.answers, stage)});
  }
  for (const ChapterQuestion& each : chapter_questions(read_text(milestone.folder / "README.md"))) {
    source.answers.push_back({.text = each.number + ". " + each.text,
                              .answer = noted(notebook.answers, each.number),
                              .needs_data = each.needs == "yours"});
  }
  for (const ShownNumber& each : notebook.numbers) {
    constexpr std::size_t kDate = 10;
    source.noted.push_back({each.value, each.what + ", " + each.shown.substr(0, kDate)});
  }
}

// The tables of the milestone's sweeps that were made here.
void add_sweeps(const CourseMilestone& milestone, ReportSource& source) {
  if (!fs::exists(milestone.folder / "sweeps.json")) return;
  for (const SweepSpace& space : read_sweep_spaces(milestone.folder / "sweeps.json")) {
    const fs::path file = build_folder() / "sweeps" / (space.stage + ".sweep.json");
    if (!fs::exists(file)) continue;
    const SweepRecord record = read_sweep_record(file);
    const auto shapes = load_preset(record.network).conv_shapes(1);
    source.sweeps.push_back(tables_of({.space = space, .shapes = shapes}, record));
  }
}

ExitCode run(const Options& options) {
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
  add_sweeps(milestone, source);
  if (options.solution == "student") add_notes(milestone, source);
  if (!options.no_plots) source.pictures = "plots";
  const Page page = make_report(source);
  if (!options.no_plots) draw(figures_of(page), folder / "plots");
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

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "report", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("RESULT", options.files,
                     "Result files (default: build/results/MILESTONE-SOLUTION*.json)");
  command.add_option("--output", options.output, "Folder (default: build/reports/MILESTONE)");
  command.add_option("--solution", options.solution, "student or reference")
      ->check(CLI::IsMember({"student", "reference"}))
      ->capture_default_str();
  command.add_flag("--no-plots", options.no_plots, "Draw no SVG, PDF and PNG beside the report");
  command.footer(
      "Writes report.md, to edit, and report.html, which works offline.\n\n"
      "Examples:\n"
      "  build/bin/grader report m4\n"
      "  build/bin/grader report m2 --no-plots\n"
      "  build/bin/grader report m4 reference/results/nvidia-h200.m*.json");
}

}  // namespace convlab::grader::report_command
