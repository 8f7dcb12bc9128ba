#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <set>

#include "common/file/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/process/run_process.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/pages/image_maps.hpp"
#include "grader/pages/report.hpp"
#include "grader/plots/all_pictures.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::report_command {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string milestone;
  std::vector<std::string> files;
  std::string output;
  std::string solution = "student";
  std::string stage;
  int image = -1;
  int profile_batch = 100;
  bool profile = false;
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
  if (found.empty()) {
    throw Error(ExitCode::kFallsShort, "Nothing of " + options.milestone +
                                           " was checked yet. Next: build/bin/grader check " +
                                           options.milestone);
  }
  return {found.begin(), found.end()};
}

// The program's tables of its time, below the lines of the run.
std::string profile_of(const fs::path& program, const std::string& stage, int batch) {
  constexpr std::chrono::minutes kLimit{5};
  const FinishedProcess run = run_process(
      {.words = {program.string(), std::to_string(batch), "--stage", stage, "--profile"},
       .output = Command::Output::kTogether,
       .time_limit = kLimit});
  if (!run.succeeded()) {
    return "No profile: " + trimmed_end(run.output.substr(0, run.output.find('\n'))) + ".";
  }
  // The text before it is what the program always prints.
  const auto begin = run.output.find("\nKernels");
  return trimmed_end(begin == std::string::npos ? run.output : run.output.substr(begin + 1));
}

void add_profiles(const Options& options, ReportSource& source) {
  std::set<std::string> stages;
  for (const Result& result : source.results) {
    if (result.milestone != options.milestone) continue;
    for (const RunResult& run : result.runs) {
      if (run.verdict != Verdict::kFailed) stages.insert(run.stage.id);
    }
  }
  ProgressLine progress;
  std::size_t done = 0;
  for (const std::string& stage : stages) {
    progress.show("profile " + std::to_string(++done) + " of " + std::to_string(stages.size()) +
                  ", " + stage);
    source.profiles[stage] =
        profile_of(program_of(options.milestone, options.solution), stage, options.profile_batch);
  }
}

void add_questions(ReportSource& source) {
  for (const Result& result : source.results) {
    for (const RunResult& run : result.runs) {
      const fs::path page = course_folder() / "docs" / "ladder" / (run.stage.id + ".md");
      if (fs::exists(page)) source.questions[run.stage.id] = questions_of(read_text(page));
    }
  }
}

// The tables of the milestone's sweeps that were made here.
void add_sweeps(const CourseMilestone& milestone, ReportSource& source) {
  if (!fs::exists(milestone.folder / "sweeps.json")) return;
  for (const SweepSpace& space : read_sweep_spaces(milestone.folder / "sweeps.json")) {
    const fs::path file = build_folder() / "sweeps" / (space.stage + ".tables.json");
    if (fs::exists(file)) source.sweeps.push_back(read_sweep_tables(file));
  }
}

void draw_all(const std::vector<Result>& results, const fs::path& folder) {
  for (const Picture& picture : all_pictures(results, results)) draw(picture, folder);
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const fs::path folder =
      options.output.empty() ? build_folder() / "reports" / milestone.id : fs::path(options.output);
  require_writable(folder / "report.html");
  ReportSource source{.milestone = milestone.id, .title = milestone.title};
  std::vector<fs::path> files(options.files.begin(), options.files.end());
  if (files.empty()) files = default_results(options);
  source.results = read_results(files);
  for (const fs::path& file : files) source.names.push_back(file.stem().string());
  source.mistakes = mended_mistakes(read_history(history_file()), milestone.id);
  add_questions(source);
  add_sweeps(milestone, source);
  if (options.profile) add_profiles(options, source);
  if (options.image >= 0) {
    source.images = image_maps(program_of(milestone.id, options.solution), options.stage,
                               kDefaultPreset, options.image);
  }
  if (!options.no_plots && !networks_of(source.results).empty()) {
    draw_all(source.results, folder / "plots");
    source.pictures = "plots";
  }
  const Page page = make_report(source);
  write_atomically(folder / "report.md", markdown_of(page));
  write_atomically(folder / "report.html", html_of(page, course_folder() / "grader" / "pages"));
  std::cout << display_path(folder / "report.md") << "\n"
            << display_path(folder / "report.html") << "\n"
            << paragraph("Next: ", "answer the questions that are marked (TODO in report.md).");
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(
      app, exit_code, "report", "Makes the skeleton of a report: tables, charts, questions", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("RESULT", options.files,
                     "Result files (default: build/results/MILESTONE-SOLUTION*.json)");
  command.add_option("--output", options.output, "Folder (default: build/reports/MILESTONE)");
  command.add_option("--solution", options.solution, "student or reference")
      ->check(CLI::IsMember({"student", "reference"}))
      ->capture_default_str();
  command.add_flag("--profile", options.profile,
                   "Run every stage once more for kernels and API calls");
  command.add_option("--profile-batch", options.profile_batch, "Images of these runs")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--image", options.image,
                     "Show this test image, 0 to 9999, and each convolution's maps");
  command.add_option("--stage", options.stage, "Stage that computes the maps (default: first)");
  command.add_flag("--no-plots", options.no_plots, "Draw no SVG, PDF and PNG beside the report");
  command.footer(
      "Writes report.md, to edit, and report.html, which works offline.\n\n"
      "Examples:\n"
      "  build/bin/grader report m4\n"
      "  build/bin/grader report m2 --image 7 --profile\n"
      "  build/bin/grader report m4 reference/results/nvidia-h200.m*.json");
}

}  // namespace convlab::grader::report_command
