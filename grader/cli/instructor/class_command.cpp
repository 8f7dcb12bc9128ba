#include <algorithm>
#include <cmath>
#include <csignal>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "common/base/json_text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/class_pictures.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/class/similar.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/plots/figure.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SharedPlace, path_a, first_a, last_a, path_b, first_b, last_b)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SimilarPair, a, b, share, places)

namespace {

namespace fs = std::filesystem;

void keep_what_is_done() {
  stop_on_signals();
  // Then a file limit is an error of write(), which SQLite reports, and does not end the program.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &action, nullptr);
}

struct GradeOptions : ClassOptions {
  ClassRequest request{.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  std::string launcher = "local";
  bool no_speed = false;
};

struct Options : ClassOptions {
  std::string folder;
  std::string roster;
  std::string name;
  std::string format = "csv";
  std::string output;
  std::string result;
  bool best = false;
  bool list = false;
  bool names = false;
  bool json = false;
  double least = 0.5;
};

ClassDatabase open_database(const Options& options) {
  return {options.file(), ClassDatabase::Access::kRead};
}

std::vector<SubmissionRow> rows_of(const Options& options, const ClassDatabase& database) {
  if (!options.milestone.empty()) find_milestone(options.milestone);
  auto rows = database.submissions(options.name, options.milestone);
  if (rows.empty() && !options.name.empty()) {
    throw UsageError("There is no submission of '" + options.name +
                     "'; grader class status --list shows all names.");
  }
  return rows;
}

ExitCode grade(const GradeOptions& options) {
  if (!options.milestone.empty()) find_milestone(options.milestone);
  keep_what_is_done();
  ClassRequest request = options.request;
  request.folder = fs::absolute(request.folder).lexically_normal();
  request.database = fs::absolute(options.file());
  request.milestone = options.milestone;
  request.on_cluster = options.launcher == "slurm";
  request.settings.grader = request.settings.grader.empty()
                                ? (build_folder() / "bin" / "grader").string()
                                : fs::absolute(request.settings.grader).string();
  request.settings.measures_speed = !options.no_speed;
  return grade_class(request, stop_asked);
}

ExitCode status(const Options& options) {
  if (!options.milestone.empty()) find_milestone(options.milestone);
  const ClassDatabase database = open_database(options);
  if (options.list) {
    constexpr int kNameWidth = 24;
    for (const SubmissionRow& row : database.submissions("", options.milestone)) {
      std::cout << row_text(row, kNameWidth, true);
    }
    return ExitCode::kPassed;
  }
  std::map<std::string, std::string> words;
  std::map<std::string, int> passed;
  int all = 0;
  for (const auto& row : database.table("states", options.milestone).rows) {
    std::string& text = words[row[0]];
    text += (text.empty() ? "" : ", ") + row[2] + " " + row[1];
    passed[row[0]] += std::stoi(row[3]);
    all += std::stoi(row[2]);
  }
  std::cout << display_path(database.file()) << ": " << database.students().size() << " students, "
            << all << " submissions\n";
  for (const auto& [milestone, text] : words) {
    std::cout << "  " << milestone << "  " << text << "; " << passed[milestone] << " passed\n";
  }
  return ExitCode::kPassed;
}

// The rules of the term; `best` overrules what they say of attempts.
Term term_of(const Options& options, const ClassDatabase& database) {
  Term term = term_in_force(database);
  term.best = term.best || options.best;
  return term;
}

// What the term makes of the attempts, of one student or milestone if the options name one. The
// whole class decides, because late days are those of a term.
std::vector<SettledAttempt> settled_rows(const Options& options, const ClassDatabase& database) {
  auto all = settled(database.submissions(), term_of(options, database));
  std::set<std::int64_t> wanted;
  for (const SubmissionRow& row : rows_of(options, database)) wanted.insert(row.id);
  std::erase_if(all, [&](const SettledAttempt& each) { return wanted.count(each.row.id) == 0; });
  return all;
}

ExitCode show(const Options& options) {
  const ClassDatabase database = open_database(options);
  for (const SettledAttempt& attempt : settled_rows(options, database)) {
    const SubmissionRow& row = attempt.row;
    std::cout << "\n" << row_text(row, display_width(row.student), true);
    std::cout << "  " << row.place << ", received " << row.received << "\n";
    if (attempt.late > 0 && row.earned > 0.0) std::cout << "  " << settled_points(attempt) << "\n";
    for (const std::string& each : database.history(row.id)) std::cout << paragraph("  ", each);
    for (const Comment& each : database.comments(row)) {
      std::cout << paragraph("  ", (each.for_staff ? "note for staff, " : "comment ") +
                                       std::to_string(each.id) + ": " + each.text);
    }
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

// A result file needs no database: in a Gradescope container there is no class.
std::string gradescope_text(const Options& options) {
  if (!options.result.empty()) return gradescope_results(read_check_result(options.result));
  const ClassDatabase database = open_database(options);
  auto attempts = settled_rows(options, database);
  std::erase_if(attempts, [](const SettledAttempt& each) { return !each.counts; });
  if (options.name.empty() || attempts.size() != 1) {
    throw UsageError(
        "Gradescope takes one submission; name it: --student NAME --milestone m1, or "
        "--result FILE.");
  }
  const SubmissionRow& row = attempts.front().row;
  const std::optional<CheckResult> check = database.result(row.id);
  return check ? gradescope_results(*check, &attempts.front(), comments_text(row, database))
               : gradescope_failure(row.sentence);
}

ExitCode export_grades(const Options& options) {
  if (options.format == "gradescope") {
    write_or_print(options, gradescope_text(options));
    return ExitCode::kPassed;
  }
  const ClassDatabase database = open_database(options);
  const auto attempts = settled_rows(options, database);
  const Gradebook book = gradebook_of(attempts, database);
  write_or_print(options, options.format == "canvas"   ? canvas_csv(book)
                          : options.format == "moodle" ? moodle_csv(book)
                                                       : list_csv(attempts));
  return ExitCode::kPassed;
}

ExitCode plot(const Options& options) {
  const ClassDatabase database = open_database(options);
  if (!options.milestone.empty()) find_milestone(options.milestone);
  if (database.table("submissions", options.milestone).rows.empty()) {
    throw UsageError("There is nothing to draw in " + display_path(options.file()) +
                     (options.milestone.empty() ? "" : " for " + options.milestone) + ".");
  }
  const fs::path folder =
      options.output.empty() ? build_folder() / "class" / "plots" : fs::path(options.output);
  const Page page = class_dashboard(database, options.milestone, options.names);
  write_atomically(folder / "dashboard.html",
                   html_of(page, course_folder() / "grader/report/pages"));
  std::cout << display_path(folder / "dashboard.html") << "\n";
  for (const auto& file : draw(figures_of(page), folder)) std::cout << display_path(file) << "\n";
  return ExitCode::kPassed;
}

// The texts that all students have: the hand-out, and the solutions if the tree has them.
std::vector<OwnedSource> common_sources() {
  std::vector<OwnedSource> sources;
  for (const char* folder : {"milestones", "reference/solutions"}) {
    const fs::path place = course_folder() / folder;
    if (!fs::is_directory(place)) continue;
    for (const SubmittedFile& file : read_submitted_files(place)) {
      sources.push_back({.path = file.path, .text = file.text});
    }
  }
  return sources;
}

ExitCode similar(const Options& options) {
  std::vector<Student> roster;
  if (!options.roster.empty()) roster = read_roster(options.roster);
  std::vector<OwnedSource> sources;
  for (const FoundSubmission& found : find_submissions(options.folder, roster)) {
    try {
      for (const MilestoneWork& work : work_of(read_submitted_files(found.place), options.milestone,
                                               found.place.filename().string())) {
        for (const auto* files : {&work.headers, &work.files, &work.puzzles}) {
          for (const SubmittedFile& file : *files) {
            sources.push_back({found.student.name, file.path, file.text});
          }
        }
      }
    } catch (const std::runtime_error& refused) {  // or the machine was at fault
      (options.json ? std::cerr : std::cout)
          << found.student.name << " left out: " << refused.what() << "\n";
    }
  }
  const auto pairs = similar_pairs(sources, common_sources(), options.least);
  if (options.json) {
    std::cout << json_text({{"pairs", nlohmann::json(pairs)}}, 2) << "\n";
    return ExitCode::kPassed;
  }
  constexpr double kPercent = 100.0;
  for (const SimilarPair& pair : pairs) {
    std::cout << std::lround(kPercent * pair.share) << " %  " << pair.a << " and " << pair.b << " ("
              << pair.shared << (pair.shared == 1 ? " fingerprint)\n" : " fingerprints)\n");
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < std::min(kShown, pair.places.size()); ++i) {
      const SharedPlace& place = pair.places[i];
      std::cout << "      " << place.path_a << ":" << place.first_a << "-" << place.last_a
                << "  like  " << place.path_b << ":" << place.first_b << "-" << place.last_b
                << "\n";
    }
  }
  std::cout << pairs.size() << (pairs.size() == 1 ? " pair shares" : " pairs share") << " at least "
            << std::lround(kPercent * options.least)
            << " % of their fingerprints. These are places to look at, not verdicts.\n";
  return ExitCode::kPassed;
}

// The task of a launcher's job.
ExitCode run_tasks(const Options& options) {
  keep_what_is_done();
  std::vector<Task> tasks;
  std::istringstream list(read_text(options.folder));
  for (std::string folder; std::getline(list, folder);) tasks.emplace_back(folder);
  run_locally(
      tasks, 1, [](std::size_t) {}, stop_asked);
  return stop_asked != 0 ? ExitCode::kInterrupted : ExitCode::kPassed;
}

ExitCode unpack(const Options& options) {
  answer_in_sandbox(options.folder);
  return ExitCode::kPassed;
}

void add_grade(CLI::App& group, ExitCode& exit_code) {
  auto [command, options] =
      add_command(group, exit_code, "grade",
                  "Grades a folder of submissions; continues where it stopped", grade);
  command.add_option("DIR", options.request.folder, "Archives, source files, folders")->required();
  options.add_database(command);
  command.add_option("--milestone", options.milestone,
                     "m1, m2, … (default: what each submission changed of the hand-out)");
  command.add_option("--roster", options.request.roster,
                     "CSV file with the students (docs/class.md)");
  command.add_option("--batches", options.request.settings.batches, "As in grader check");
  command
      .add_option("--jobs", options.request.jobs,
                  "Submissions at the same time (default: one per core)")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--limit", options.request.settings.limit_s,
                  "Seconds that grading one submission may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* again = command.add_flag("--again", options.request.again,
                                        "Also what is graded already; keeps the old outcomes");
  command
      .add_flag("--changed-rules", options.request.changed_rules,
                "With --again: only what other rules for points, or another grader, graded")
      ->needs(again);
  command.add_flag("--allow-lower", options.request.allow_lower, "With --again: points may fall")
      ->needs(again);
  command.add_option("--leaderboard", options.request.leaderboard,
                     "HTML page of ranks, with aliases, that each graded submission rewrites");
  command.add_flag("--no-speed", options.no_speed, "Do not measure the speeds that give points");
  command.add_option("--launcher", options.launcher, "local, or slurm: as an array of jobs")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
  command.add_option("--chunk", options.request.slurm.chunk, "slurm: submissions per job")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--gres", options.request.slurm.gres, "slurm: devices per job; '' for none")
      ->capture_default_str();
  command.add_option("--sbatch", options.request.slurm.options, "slurm: one more option of sbatch");
  command.add_option("--grader", options.request.settings.grader)
      ->group("");  // for tests: what checks
  command.footer(
      "Checks correctness in parallel, then takes times, one submission after the\n"
      "other. Ctrl-C keeps finished submissions; the same command continues.\n\n"
      "Examples:\n"
      "  build/bin/grader class grade submissions/\n"
      "  build/bin/grader class grade submissions/m2 --milestone m2 --roster class.csv");
}

void add_export(CLI::App& group, ExitCode& exit_code) {
  auto [command, options] = add_command(group, exit_code, "export",
                                        "Writes the points for other programs", export_grades);
  options.add_database(command);
  options.add_milestone(command);
  command.add_option("--format", options.format, "csv, canvas, moodle, gradescope")
      ->check(CLI::IsMember({"csv", "canvas", "moodle", "gradescope"}))
      ->capture_default_str();
  command.add_option("--output", options.output, "File (default: standard output)");
  command.add_flag("--best", options.best, "The best attempt counts, not the last");
  command.add_option("--student", options.name, "Only this student");
  command.add_option("--result", options.result,
                     "gradescope: a result of grader check instead of the class");
  command.footer(
      "Examples:\n"
      "  build/bin/grader class export --format canvas --output canvas.csv\n"
      "  build/bin/grader class export --format gradescope --student alice");
}

}  // namespace

fs::path ClassOptions::file() const {
  return database.empty() ? build_folder() / "class" / "class.db" : fs::path(database);
}

void ClassOptions::add_database(CLI::App& command) {
  command.add_option("--database", database, "File of the class (default: build/class/class.db)");
}

void ClassOptions::add_milestone(CLI::App& command) {
  command.add_option("--milestone", milestone, "Only this milestone");
}

void add_class(CLI::App& app, ExitCode& exit_code) {
  CLI::App* group = app.add_subcommand("class", "Grades a class and keeps its points");
  group->require_subcommand(1);
  add_grade(*group, exit_code);
  {
    auto [command, options] =
        add_command(*group, exit_code, "status", "Counts graded submissions, or lists all", status);
    options.add_database(command);
    options.add_milestone(command);
    command.add_flag("--list", options.list, "One line for each submission");
    command.footer("Example:\n  build/bin/grader class status --milestone m2 --list");
  }
  {
    auto [command, options] =
        add_command(*group, exit_code, "show", "Shows one student's findings and points", show);
    command.add_option("NAME", options.name, "Name, login, number or alias")->required();
    options.add_database(command);
    options.add_milestone(command);
    command.footer("Example:\n  build/bin/grader class show \"Doe, Jane\"");
  }
  add_export(*group, exit_code);
  term_commands::add(*group, exit_code);
  {
    auto [command, options] = add_command(*group, exit_code, "plot",
                                          "Draws plots of the class and an HTML dashboard", plot);
    options.add_database(command);
    options.add_milestone(command);
    command.add_option("--output", options.output, "Folder (default: build/class/plots)");
    command.add_flag("--names", options.names, "Names instead of aliases");
    command.footer("Example:\n  build/bin/grader class plot --milestone m2 --output slides");
  }
  {
    auto [command, options] = add_command(*group, exit_code, "similar",
                                          "Lists similar submissions, also renamed ones", similar);
    command.add_option("DIR", options.folder, "As in class grade")->required();
    options.add_milestone(command);
    command.add_option("--roster", options.roster, "CSV file with the students");
    command.add_option("--least", options.least, "Smallest share of fingerprints to report")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command.add_flag("--json", options.json, "Print all pairs and places as JSON");
    command.footer("Example:\n  build/bin/grader class similar submissions/ --least 0.7");
  }
  // Internal commands: the task of a launcher's job, and the reader of archives in its sandbox.
  for (const bool task : {true, false}) {
    auto [command, options] =
        add_command(*group, exit_code, task ? "task" : "unpack", "", task ? run_tasks : unpack);
    command.add_option("FILE", options.folder)->required();
    command.group("");
  }
  group->footer(
      "Examples:\n"
      "  build/bin/grader class grade submissions/\n"
      "  build/bin/grader class status --list\n"
      "  build/bin/grader class show alice\n"
      "  build/bin/grader class export --format canvas --output canvas.csv\n"
      "  build/bin/grader class plot\n"
      "  build/bin/grader class similar submissions/");
}

}  // namespace convlab::grader
