#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_driver.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/edition.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/course/way.hpp"
#include "grader/measure/quiet_gpu.hpp"
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

ExitCode nothing_to(const char* verb) {
  std::cout << paragraph("", std::string("There is nothing to ") + verb +
                                 ": these results hold no op time of a stage that passed. An "
                                 "emulated run has none.");
  return ExitCode::kFallsShort;
}

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
  std::vector<Figure> figures;
  for (const std::string& network : networks_of(results)) {
    std::ranges::move(figures_of(results, network), std::back_inserter(figures));
  }
  if (figures.empty()) return nothing_to("plot");
  const fs::path folder =
      options.output.empty() ? build_folder() / "plots" : fs::path(options.output);
  for (const auto& file : draw(figures, folder)) std::cout << display_path(file) << "\n";
  return ExitCode::kPassed;
}

ExitCode run_compare(const CompareOptions& options) {
  const std::vector<Result> results = read_results({options.files.begin(), options.files.end()});
  std::vector<std::string> names;
  for (const std::string& file : options.files) names.push_back(fs::path(file).stem().string());
  if (options.by_file && results.size() < 2) {
    throw UsageError("--by-file compares results with the first one; name two or more.");
  }
  const auto comparisons = compare(results, names, options.by_file);
  if (comparisons.empty()) return nothing_to("compare");
  for (const Comparison& each : comparisons) {
    std::cout << coloured("network " + each.network + ", batch " + std::to_string(each.batch),
                          Colour::kStrong)
              << "\n"
              << plain_table(each.table) << coloured(each.caption, Colour::kQuiet) << "\n\n";
  }
  return ExitCode::kPassed;
}

// The results of a milestone's checks: that of all stages first, then those of single stages.
std::vector<fs::path> default_results(const ReportOptions& options) {
  const bool is_course = !title_of_course(options.milestone).empty();
  const std::string stem = options.milestone + (is_course ? "" : "-" + options.solution);
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

// What the comparisons say of a stage at 1000 images, by the headings of their tables.
std::map<std::string, std::string> measured(const ReportSource& source, const std::string& stage) {
  constexpr int kBatch = 1000;
  std::map<std::string, std::string> found;
  for (const Comparison& each : compare(source.results, source.names)) {
    for (const auto& row : each.table.rows) {
      if (each.batch != kBatch || row[0] != source.milestone + " " + stage) continue;
      for (std::size_t i = 0; i < row.size(); ++i) found[each.table.heading[i]] = row[i];
    }
  }
  return found;
}

// What the student noted: predictions, and answers to the chapter's questions.
void add_notes(const CourseMilestone& milestone, ReportSource& source) {
  const Notebook notebook = read_notebook(milestone);
  const auto noted = [](const auto& notes, const std::string& key) {
    const auto found = notes.find(key);
    using Value = typename std::remove_cvref_t<decltype(notes)>::mapped_type;
    return found == notes.end() ? Value{} : found->second;
  };
  PageSection predictions{.title = "Predicted and measured"};
  for (const auto& [stage, slip] : notebook.predictions) {
    const Counted counted = noted(notebook.explained, stage);
    const auto timed = measured(source, stage);
    const std::string compute = noted(timed, "compute %");
    Table table{.heading = {"", "predicted", "measured"}};
    const auto compare = [&](const char* what, double predicted, const std::string& measured) {
      if (!(predicted > 0.0)) return;
      table.rows.push_back({what, three_digits(predicted),
                            measured.empty() || measured == "0" ? "not measured" : measured});
    };
    table.rows = {{"limit", slip.limiter,
                   compute.empty() ? "not measured"
                                   : "arithmetic at " + compute + " % of its peak, memory at " +
                                         noted(timed, "memory %") + " %"}};
    compare("loads for each multiply-add", slip.loads, three_digits(counted.loads));
    compare("loads of each input", slip.inputs, three_digits(counted.inputs));
    compare("op time at 1000 images, ms", slip.op_ms, noted(timed, "op time ms"));
    predictions.blocks.insert(
        predictions.blocks.end(),
        {Paragraph{stage + ", because: " + slip.reason}, table,
         OpenQuestion{stage + ": what explains the difference?", noted(notebook.answers, stage)}});
  }
  std::vector<KnownNumber> known = notebook.numbers;
  for (const SweepTable& table : source.sweeps) {
    known.insert(known.begin(), table.scores.begin(), table.scores.end());
  }
  for (const Result& result : source.results) {
    const auto times = known_times(result);
    known.insert(known.begin(), times.begin(), times.end());
  }
  PageSection chapter{.title = "Questions of the chapter"};
  for (const ChapterQuestion& each : chapter_questions(read_text(milestone.folder / "README.md"))) {
    const std::string answer = noted(notebook.answers, each.number);
    chapter.blocks.push_back(OpenQuestion{each.number + ". " + each.text, answer});
    const std::string found = found_numbers(answer, known);
    if (!found.empty()) {
      chapter.blocks.push_back(Paragraph{"Checked: " + found});
    } else if (!answer.empty() && each.needs == "yours") {
      chapter.blocks.push_back(Paragraph{"Checked: it names no number of these results."});
    }
  }
  for (PageSection* each : {&predictions, &chapter}) {
    if (!each->blocks.empty()) source.notes.push_back(std::move(*each));
  }
}

fs::path sweep_folder(const std::string& stage) {
  return build_folder() / "sweeps" / stage;
}

// By the times that a GPU took; by counted loads if there are none.
std::vector<SweepTable> tables_of(const SweepSpace& space, const std::string& network) {
  const auto timed = timed_tables(space, sweep_folder(space.stage));
  return timed.empty() ? counted_tables(space, network) : timed;
}

// What a student's own work on a milestone of the workbook has left beside results.
void add_work(const CourseMilestone& milestone, const ReportOptions& options,
              ReportSource& source) {
  source.mistakes = mended_mistakes(read_history(history_file()), milestone.id);
  // The mistake of a repair is not the student's, and work that was not begun is none.
  std::erase_if(source.mistakes, [&](const MendedMistake& each) {
    return is_of_kind({.id = each.id}, "not-begun") || is_repair(milestone, each.stage);
  });
  for (const SweepSpace& space : sweep_spaces(milestone.folder)) {
    if (!fs::exists(sweep_folder(space.stage))) continue;
    std::ranges::move(tables_of(space, kDefaultPreset), std::back_inserter(source.sweeps));
  }
  if (options.solution == "student") add_notes(milestone, source);
}

ExitCode run_report(const ReportOptions& options) {
  const std::string& id = options.milestone;
  const std::string course = title_of_course(id);
  ReportSource source{.milestone = id, .title = course};
  if (course.empty()) source.title = find_milestone(id).title;
  require_solution(options.solution);
  const fs::path folder =
      options.output.empty() ? build_folder() / "reports" / id : fs::path(options.output);
  require_writable(folder / "report.html");
  std::vector<fs::path> files(options.files.begin(), options.files.end());
  if (files.empty()) files = default_results(options);
  source.results = read_results(files);
  for (const fs::path& file : files) source.names.push_back(file.stem().string());
  if (course.empty()) add_work(find_milestone(id), options, source);
  const Page page = make_report(source);
  draw(figures_of(page), folder / "plots");
  write_atomically(folder / "report.md", markdown_of(page));
  write_atomically(folder / "report.html", html_of(page, course_folder() / "grader/report/pages"));
  std::string next = "answer the questions that are marked (TODO in report.md)";
  if (course.empty()) next += "; those of the chapter also with build/bin/grader answer " + id;
  std::cout << display_path(folder / "report.md") << "\n"
            << display_path(folder / "report.html") << "\n"
            << paragraph("Next: ", next + ".");
  return ExitCode::kPassed;
}

// @throws UsageError that lists the stages with a space
std::pair<CourseMilestone, SweepSpace> find_sweep(const std::string& stage) {
  std::vector<std::string> known;
  for (const CourseMilestone& milestone : milestones()) {
    for (const SweepSpace& space : sweep_spaces(milestone.folder)) {
      if (space.stage == stage) return {milestone, space};
      known.push_back(space.stage);
    }
  }
  throw UsageError(unknown_name("stage", stage, known, " with parameters in a sweeps.json"));
}

// Runs the milestone's program at one point. Empty, or why there is no result.
std::string run_point(const fs::path& program, const SweepSpace& space, const std::string& point,
                      const SweepOptions& options, int batch) {
  const fs::path file = sweep_folder(space.stage) / std::to_string(batch) / (point + ".json");
  fs::create_directories(file.parent_path());
  const FinishedProcess run =
      run_process({.words = {program.string(), std::to_string(batch), "--stage", space.stage,
                             "--network", options.network, "--json", file.string()},
                   .environment = {space.variable + "=" + point},
                   .output = Command::Output::kTogether,
                   .time_limit = std::chrono::minutes(5)});
  const std::string printed = trimmed_end(run.output);
  return run.succeeded() ? "" : "it failed: " + printed.substr(printed.find_last_of('\n') + 1);
}

ExitCode run_sweep(const SweepOptions& options) {
  if (options.launcher == "slurm") return run_as_slurm_job(own_words_without_launcher());
  const auto [milestone, space] = find_sweep(options.stage);
  const bool counts = options.device == "emulated" || !answering_gpu();
  const std::vector<int> batches = parse_batches(options.batches);
  load_preset(options.network);
  if (counts) {
    std::cout << "No GPU is used, so nothing runs: the points are ranked by counted loads. That\n"
                 "rules out points; only a GPU can show which of the rest is fastest.\n";
    fs::create_directories(sweep_folder(space.stage));
  } else {
    if (options.solution == "student") {
      if (const std::optional<Finding> failed = build_milestone(milestone)) {
        std::cout << finding_text(*failed);
        return ExitCode::kFallsShort;
      }
    }
    ProgressLine progress;
    wait_for_quiet_gpu([&](const std::string& text) { progress.show(text); });
    fs::remove_all(sweep_folder(space.stage));
    for (const int batch : batches) {
      for (const SweepPoint& point : points_of(space)) {
        const std::string name = text_of(point) + " at " + count_of(batch, "image");
        progress.show(name);
        const std::string failure = run_point(program_of(milestone.id, options.solution), space,
                                              text_of(point), options, batch);
        progress.clear();
        if (!failure.empty()) std::cout << paragraph(name + ": ", failure);
      }
    }
  }
  for (const SweepTable& table :
       counts ? counted_tables(space, options.network) : tables_of(space, options.network)) {
    std::cout << "\n" << paragraph("", table.text) << plain_table(table.cells);
  }
  return ExitCode::kPassed;
}

}  // namespace

void set(Views& views) {
  views.plot = run_plot;
  views.sweep = run_sweep;
  views.compare = run_compare;
  views.report = run_report;
}

}  // namespace convlab::grader::result_commands
