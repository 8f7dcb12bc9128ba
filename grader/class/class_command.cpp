#include "grader/class/class_command.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <thread>

#include "common/file/whole_file.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/cli/course.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/score_table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t stop_asked = 0;

void ask_to_stop(int /*signal*/) {
  stop_asked = 1;
}

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  // A file limit is then an error of write(), which SQLite tells, and not the end of the program.
  action.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &action, nullptr);
}

struct Options {
  std::string folder;
  std::string database;
  std::string roster;
  std::string milestone;
  std::string batches;
  std::string grader;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  double limit_s = 1200.0;
  bool no_speed = false;

  std::string name;
  std::string format = "csv";
  std::string output;
  std::string result;
  std::vector<std::string> hidden;
  bool best = false;
  bool list = false;
  std::vector<std::string> tasks;
};

fs::path database_of(const Options& options) {
  return options.database.empty() ? build_folder() / "class" / "class.db"
                                  : fs::path(options.database);
}

ClassDatabase open_database(const Options& options) {
  return {database_of(options), ClassDatabase::Access::kRead};
}

std::vector<SubmissionRow> rows_of(const Options& options, const ClassDatabase& database) {
  std::vector<SubmissionRow> rows = database.submissions(options.name);
  std::erase_if(rows, [&](const SubmissionRow& row) {
    return !options.milestone.empty() && row.milestone != options.milestone;
  });
  return rows;
}

ExitCode grade(const Options& options) {
  if (!options.milestone.empty()) find_milestone(options.milestone);
  stop_on_signals();
  const ClassRequest request{
      .folder = fs::absolute(options.folder).lexically_normal(),
      .database = fs::absolute(database_of(options)),
      .roster = options.roster,
      .milestone = options.milestone,
      .settings = {.grader = options.grader.empty() ? build_folder() / "bin" / "grader"
                                                    : fs::absolute(options.grader),
                   .batches = options.batches,
                   .measures_speed = !options.no_speed,
                   .limit_s = options.limit_s},
      .launcher = local_launcher(options.jobs)};
  return grade_class(request, stop_asked);
}

ExitCode status(const Options& options) {
  const ClassDatabase database = open_database(options);
  const auto rows = rows_of(options, database);
  if (options.list) {
    for (const SubmissionRow& row : rows) {
      constexpr int kNameWidth = 24;
      std::cout << row_text(row, kNameWidth, true);
    }
    return ExitCode::kPassed;
  }
  std::map<std::string, std::map<SubmissionState, int>> counts;
  std::map<std::string, int> passed;
  for (const SubmissionRow& row : rows) {
    ++counts[row.milestone][row.state];
    if (row.passed) ++passed[row.milestone];
  }
  std::cout << display_path(database.file()) << ": " << database.students().size() << " students, "
            << rows.size() << " submissions\n";
  for (const auto& [milestone, states] : counts) {
    std::string text;
    for (const auto& [state, count] : states) {
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + to_string(state);
    }
    std::cout << "  " << milestone << "  " << text << "; " << passed[milestone] << " passed\n";
  }
  return ExitCode::kPassed;
}

ExitCode show(const Options& options) {
  const ClassDatabase database = open_database(options);
  const auto rows = rows_of(options, database);
  if (rows.empty()) {
    throw UsageError("There is no submission of '" + options.name +
                     "'; grader class status --list shows all names.");
  }
  for (const SubmissionRow& row : rows) {
    std::cout << "\n" << row_text(row, display_width(row.student), true);
    std::cout << "  " << row.place << ", received " << row.received << "\n";
    const std::optional<CheckResult> check = database.result(row.id);
    if (!check) continue;
    for (const Finding& finding : check->findings) std::cout << finding_text(finding);
    if (check->score) std::cout << score_table(*check->score);
  }
  return ExitCode::kPassed;
}

void write_or_print(const Options& options, const std::string& text) {
  if (options.output.empty()) {
    std::cout << text;
    return;
  }
  write_atomically(options.output, text);
  std::cout << display_path(fs::absolute(options.output)) << "\n";
}

// A result file stands for itself: in a Gradescope container there is no class.
std::string gradescope_text(const Options& options) {
  GradescopeSettings settings{.hidden = options.hidden};
  if (!options.result.empty()) {
    return gradescope_results(read_check_result(options.result), settings);
  }
  const ClassDatabase database = open_database(options);
  const auto rows = counting(rows_of(options, database), options.best);
  if (options.name.empty() || rows.size() != 1) {
    throw UsageError(
        "Gradescope takes one submission; name it: --student NAME --milestone m1, or "
        "--result FILE.");
  }
  settings.seconds = rows.front().seconds;
  const std::optional<CheckResult> check = database.result(rows.front().id);
  return check ? gradescope_results(*check, settings) : gradescope_failure(rows.front().sentence);
}

ExitCode export_grades(const Options& options) {
  if (options.format == "gradescope") {
    write_or_print(options, gradescope_text(options));
    return ExitCode::kPassed;
  }
  const ClassDatabase database = open_database(options);
  const auto rows = rows_of(options, database);
  const Gradebook book{.students = database.students(), .rows = counting(rows, options.best)};
  write_or_print(options, options.format == "canvas"   ? canvas_csv(book)
                          : options.format == "moodle" ? moodle_csv(book)
                          : options.format == "json"   ? list_json(rows)
                                                       : list_csv(rows));
  return ExitCode::kPassed;
}

ExitCode run_tasks(const Options& options) {
  stop_on_signals();
  std::vector<Task> tasks;
  for (const std::string& folder : options.tasks) tasks.emplace_back(folder);
  run_chunk(
      tasks, [](std::size_t) {}, &stop_asked);
  return stop_asked != 0 ? ExitCode::kInterrupted : ExitCode::kPassed;
}

void add_database(CLI::App& command, Options& options) {
  command.add_option("--database", options.database,
                     "File of the class (default: build/class/class.db)");
}

void add_selection(CLI::App& command, Options& options) {
  add_database(command, options);
  command.add_option("--milestone", options.milestone, "Only this milestone");
}

void add_grade(CLI::App& group, const std::shared_ptr<Options>& options, ExitCode& exit_code) {
  CLI::App* command =
      group.add_subcommand("grade", "Grades a folder of submissions, and goes on where it stopped");
  command->add_option("DIR", options->folder, "Archives, source files, folders")->required();
  add_database(*command, *options);
  command->add_option("--milestone", options->milestone,
                      "m1, m2, … (default: what each submission changed of the hand-out)");
  command->add_option("--roster", options->roster, "CSV file with the students (docs/class.md)");
  command->add_option("--batches", options->batches, "As in grader check");
  command->add_option("--jobs", options->jobs, "How many at the same time (default: all cores)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--limit", options->limit_s, "Seconds that grading one submission may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--no-speed", options->no_speed, "Do not measure the speeds that give points");
  command->add_option("--grader", options->grader)->group("");  // for tests: what checks
  command->footer(
      "Correctness is checked in parallel, then times are taken, one submission\n"
      "after the other. Ctrl-C keeps what is graded; the same command goes on.\n\n"
      "Examples:\n"
      "  build/bin/grader class grade submissions/\n"
      "  build/bin/grader class grade submissions/m2 --milestone m2 --roster class.csv");
  command->callback([options, &exit_code] { exit_code = grade(*options); });
}

void add_export(CLI::App& group, const std::shared_ptr<Options>& options, ExitCode& exit_code) {
  CLI::App* command = group.add_subcommand("export", "Writes the points for other programs");
  add_selection(*command, *options);
  command->add_option("--format", options->format, "csv, canvas, moodle, json, gradescope")
      ->check(CLI::IsMember({"csv", "canvas", "moodle", "json", "gradescope"}))
      ->capture_default_str();
  command->add_option("--output", options->output, "File (default: standard output)");
  command->add_flag("--best", options->best, "The best attempt counts, not the last");
  command->add_option("--student", options->name, "Only this one");
  command->add_option("--result", options->result,
                      "gradescope: a result of grader check instead of the class");
  command->add_option("--hide", options->hidden,
                      "gradescope: items that students see after publishing, such as speed or "
                      "'network 10000'");
  command->footer(
      "Examples:\n"
      "  build/bin/grader class export --format canvas --output canvas.csv\n"
      "  build/bin/grader class export --format gradescope --result build/results/m1-student.json");
  command->callback([options, &exit_code] { exit_code = export_grades(*options); });
}

}  // namespace

void add_class(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* group = app.add_subcommand("class", "Grades a class and keeps its points");
  group->require_subcommand(1);
  add_grade(*group, options, exit_code);

  CLI::App* command = group->add_subcommand("status", "How many are graded, or a list of all");
  add_selection(*command, *options);
  command->add_flag("--list", options->list, "One line for each submission");
  command->callback([options, &exit_code] { exit_code = status(*options); });

  command = group->add_subcommand("show", "All about one student: findings and points");
  command->add_option("NAME", options->name, "Name, login, number or alias")->required();
  add_selection(*command, *options);
  command->callback([options, &exit_code] { exit_code = show(*options); });

  add_export(*group, options, exit_code);

  // What a job of a launcher runs; nobody types it.
  command = group->add_subcommand("task", "")->group("");
  command->add_option("FOLDER", options->tasks)->required();
  command->callback([options, &exit_code] { exit_code = run_tasks(*options); });
  group->footer(
      "Examples:\n"
      "  build/bin/grader class grade submissions/\n"
      "  build/bin/grader class status --list\n"
      "  build/bin/grader class show alice\n"
      "  build/bin/grader class export --format canvas --output canvas.csv");
}

}  // namespace convlab::grader
