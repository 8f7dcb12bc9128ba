#include <algorithm>
#include <cmath>
#include <csignal>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

#include "common/base/whole_file.hpp"
#include "grader/class/class_pages.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/class/similar.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

fs::path class_folder() {
  return build_folder() / "class";
}

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
  bool list = false;
  bool names = false;
  double least = 0.5;
};

ClassDatabase open_database(const Options& options) {
  return {options.file(), ClassDatabase::Access::kRead};
}

ExitCode grade(const GradeOptions& options) {
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
  return grade_class(request);
}

ExitCode status(const Options& options) {
  const ClassDatabase database = open_database(options);
  if (options.list) {
    for (const SubmissionRow& row : database.submissions("", options.milestone)) {
      std::cout << row_text(row, true);
    }
    return ExitCode::kPassed;
  }
  std::cout << display_path(database.file()) << ": " << database.students().size() << " students, "
            << database.run("SELECT count(*) FROM submission") << " submissions\n"
            << plain_table(database.table("states", options.milestone));
  return ExitCode::kPassed;
}

// What the term makes of the attempts, of one student or milestone if the options name one. The
// whole class decides, because late days are those of a term.
std::vector<SettledAttempt> settled_rows(const Options& options, const ClassDatabase& database) {
  auto all = settled(database.submissions(), term_in_force(database));
  std::set<std::int64_t> wanted;
  for (const SubmissionRow& row : database.submissions(options.name, options.milestone)) {
    wanted.insert(row.id);
  }
  if (wanted.empty() && !options.name.empty()) {
    throw UsageError("There is no submission of '" + options.name +
                     "'; grader class status --list shows all names.");
  }
  std::erase_if(all, [&](const SettledAttempt& each) { return !wanted.contains(each.row.id); });
  return all;
}

ExitCode show(const Options& options) {
  const ClassDatabase database = open_database(options);
  for (const SettledAttempt& attempt : settled_rows(options, database)) {
    const SubmissionRow& row = attempt.row;
    std::cout << "\n" << row_text(row, true);
    std::cout << "  " << row.place << ", received " << row.received << "\n";
    if (attempt.late > 0 && row.earned > 0.0) std::cout << "  " << settled_points(attempt) << "\n";
    for (const std::string& each :
         database.texts("SELECT words FROM history WHERE submission = ? ORDER BY time", row.id)) {
      std::cout << paragraph("  ", each);
    }
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

// The whole result of each attempt that counts, for `grader plot` and `grader compare`.
ExitCode export_results(const std::vector<SettledAttempt>& attempts, const ClassDatabase& database,
                        const fs::path& folder) {
  int files = 0;
  for (const SettledAttempt& each : attempts) {
    const auto check = each.counts ? database.result(each.row.id) : std::nullopt;
    if (!check) continue;
    write_check_result(folder / (each.row.alias + "-" + each.row.milestone + ".json"), *check);
    ++files;
  }
  std::cout << files << " files in " << display_path(fs::absolute(folder)) << "\n";
  return ExitCode::kPassed;
}

ExitCode export_grades(const Options& options) {
  const ClassDatabase database = open_database(options);
  auto attempts = settled_rows(options, database);
  if (options.format == "gradescope") {
    std::erase_if(attempts, [](const SettledAttempt& each) { return !each.counts; });
    if (options.name.empty() || attempts.size() != 1) {
      throw UsageError("Gradescope takes one submission; name it: --student NAME --milestone m1.");
    }
    write_or_print(options, gradescope_results(attempts.front(), database));
    return ExitCode::kPassed;
  }
  if (options.format == "results") {
    return export_results(
        attempts, database,
        options.output.empty() ? class_folder() / "results" : fs::path(options.output));
  }
  write_or_print(options, options.format == "csv"
                              ? list_csv(attempts)
                              : platform_csv(attempts, database, options.format == "canvas"));
  return ExitCode::kPassed;
}

ExitCode plot(const Options& options) {
  const ClassDatabase database = open_database(options);
  const fs::path folder =
      options.output.empty() ? class_folder() / "plots" : fs::path(options.output);
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
  std::vector<OwnedSource> sources;
  for (const FoundSubmission& found :
       find_submissions(options.folder, read_roster(options.roster))) {
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
      std::cout << found.student.name << " left out: " << refused.what() << "\n";
    }
  }
  const auto pairs = similar_pairs(sources, common_sources(), options.least);
  constexpr double kPercent = 100.0;
  for (const SimilarPair& pair : pairs) {
    std::cout << std::lround(kPercent * pair.share) << " %  " << pair.a << " and " << pair.b << " ("
              << pair.shared << (pair.shared == 1 ? " fingerprint)\n" : " fingerprints)\n");
    for (const SharedPlace& place : pair.places) {
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
  run_locally(tasks, 1, [](std::size_t) {});
  return stop_asked != 0 ? ExitCode::kInterrupted : ExitCode::kPassed;
}

ExitCode unpack(const Options& options) {
  answer_in_sandbox(options.folder);
  return ExitCode::kPassed;
}

void add_grade(CLI::App& group, ExitCode& exit_code) {
  auto [command, options] = add_command(group, exit_code, "grade", grade);
  ClassRequest& request = options.request;
  command.add_option("DIR", request.folder)->required();
  options.add_to(command);
  command.add_option("--roster", request.roster);
  command.add_option("--batches", request.settings.batches);
  command.add_option("--jobs", request.jobs)->check(CLI::Range(1, 1024));
  command.add_option("--limit", request.settings.limit_s)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* again = command.add_flag("--again", request.again);
  command.add_flag("--changed-rules", request.changed_rules)->needs(again);
  command.add_flag("--allow-lower", request.allow_lower)->needs(again);
  command.add_option("--leaderboard", request.leaderboard);
  command.add_flag("--no-speed", options.no_speed);
  command.add_option("--launcher", options.launcher)
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
  command.add_option("--chunk", request.slurm.chunk)
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--gres", request.slurm.gres)->capture_default_str();
  command.add_option("--sbatch", request.slurm.options);
  command.add_option("--grader", request.settings.grader)->group("");  // for tests: what checks
}

}  // namespace

fs::path ClassOptions::file() const {
  return database.empty() ? class_folder() / "class.db" : fs::path(database);
}

void ClassOptions::add_to(CLI::App& command) {
  command.add_option("--database", database);
  command.add_option("--milestone", milestone)->check([](const std::string& id) {
    return find_milestone(id).id.empty() ? id : "";
  });
}

void add_class(CLI::App& app, ExitCode& exit_code) {
  CLI::App* group = app.add_subcommand("class");
  group->require_subcommand(1);
  add_grade(*group, exit_code);
  {
    auto [command, options] = add_command(*group, exit_code, "status", status);
    options.add_to(command);
    command.add_flag("--list", options.list);
  }
  {
    auto [command, options] = add_command(*group, exit_code, "show", show);
    command.add_option("NAME", options.name)->required();
    options.add_to(command);
  }
  {
    auto [command, options] = add_command(*group, exit_code, "export", export_grades);
    options.add_to(command);
    command.add_option("--format", options.format)
        ->check(CLI::IsMember({"csv", "canvas", "moodle", "gradescope", "results"}))
        ->capture_default_str();
    command.add_option("--output", options.output);
    command.add_option("--student", options.name);
  }
  term_commands::add(*group, exit_code);
  {
    auto [command, options] = add_command(*group, exit_code, "plot", plot);
    options.add_to(command);
    command.add_option("--output", options.output);
    command.add_flag("--names", options.names);
  }
  {
    auto [command, options] = add_command(*group, exit_code, "similar", similar);
    command.add_option("DIR", options.folder)->required();
    command.add_option("--milestone", options.milestone);
    command.add_option("--roster", options.roster);
    command.add_option("--least", options.least)
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }
  // Internal commands: the task of a launcher's job, and the reader of archives in its sandbox.
  for (const bool task : {true, false}) {
    auto [command, options] =
        add_command(*group, exit_code, task ? "task" : "unpack", task ? run_tasks : unpack);
    command.add_option("FILE", options.folder)->required();
    command.group("");
  }
}

}  // namespace convlab::grader
