#include <cmath>
#include <csignal>
#include <iostream>
#include <set>
#include <sstream>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/rules.hpp"
#include "grader/class/class_pages.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/class/similar.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/instructor/class_options.hpp"
#include "grader/course/course.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

void keep_what_is_done() {
  stop_on_signals();
  // Then a file limit is an error of write(), which SQLite reports, and does not end the program.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &action, nullptr);
}

ExitCode grade(const ClassOptions& options) {
  keep_what_is_done();
  ClassRequest request = options.request;
  request.folder = fs::absolute(request.folder).lexically_normal();
  request.database = fs::absolute(options.file());
  request.on_cluster = options.launcher == "slurm";
  request.settings.grader = request.settings.grader.empty()
                                ? (build_folder() / "bin" / "grader").string()
                                : fs::absolute(request.settings.grader).string();
  request.settings.measures_speed = !options.no_speed;
  return grade_class(request);
}

ExitCode status(const ClassOptions& options) {
  const ClassDatabase database = open_database(options);
  if (options.list) {
    for (const SubmissionRow& row : database.submissions("", options.request.milestone)) {
      std::cout << row_text(row, true);
    }
    return ExitCode::kPassed;
  }
  std::cout << display_path(database.file()) << ": " << database.students().size() << " students, "
            << database.run("SELECT count(*) FROM submission") << " submissions\n"
            << plain_table(database.table("states", options.request.milestone));
  return ExitCode::kPassed;
}

// What the term makes of the attempts, of one student or milestone if the options name one. The
// whole class decides, because late days are those of a term.
std::vector<SettledAttempt> settled_rows(const ClassOptions& options,
                                         const ClassDatabase& database) {
  auto all = settled(database.submissions(), term_in_force(database));
  std::set<std::int64_t> wanted;
  for (const SubmissionRow& row : database.submissions(options.name, options.request.milestone)) {
    wanted.insert(row.id);
  }
  if (wanted.empty() && !options.name.empty()) {
    throw UsageError("There is no submission of '" + options.name +
                     "'; grader class status --list shows all names.");
  }
  std::erase_if(all, [&](const SettledAttempt& each) { return !wanted.contains(each.row.id); });
  return all;
}

ExitCode show(const ClassOptions& options) {
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
    std::cout << points_tables(*check, check->score);
  }
  return ExitCode::kPassed;
}

void write_or_print(const ClassOptions& options, const std::string& text) {
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
    auto check = each.counts ? database.result(each.row.id) : std::nullopt;
    if (!check) continue;
    check->result.solution = each.row.alias;  // in plots, too; not a path of this machine
    write_check_result(folder / (each.row.alias + "-" + each.row.milestone + ".json"), *check);
    ++files;
  }
  std::cout << files << " files in " << display_path(fs::absolute(folder)) << "\n";
  return ExitCode::kPassed;
}

ExitCode export_grades(const ClassOptions& options) {
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
    return export_results(attempts, database, options.output_or("results"));
  }
  write_or_print(options, options.format == "csv"
                              ? list_csv(attempts)
                              : platform_csv(attempts, database, options.format == "canvas"));
  return ExitCode::kPassed;
}

ExitCode plot(const ClassOptions& options) {
  const ClassDatabase database = open_database(options);
  const fs::path folder = options.output_or("plots");
  const Page page = class_dashboard(database, options.request.milestone, options.names);
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

ExitCode similar(const ClassOptions& options) {
  std::vector<OwnedSource> sources;
  for (const FoundSubmission& found :
       find_submissions(options.request.folder, read_roster(options.request.roster))) {
    try {
      for (const MilestoneWork& work :
           work_of(read_submitted_files(found.place), options.request.milestone,
                   found.place.filename().string(), options.request.settings.rules)) {
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
              << count_of(pair.shared, "fingerprint") << ")\n";
    for (const SharedPlace& place : pair.places) {
      std::cout << "      " << place.path_a << ":" << place.first_a << "-" << place.last_a
                << "  like  " << place.path_b << ":" << place.first_b << "-" << place.last_b
                << "\n";
    }
  }
  std::cout << count_of(std::ssize(pairs), "pair") << (pairs.size() == 1 ? " shares" : " share")
            << " at least " << std::lround(kPercent * options.least)
            << " % of their fingerprints. These are places to look at, not verdicts.\n";
  return ExitCode::kPassed;
}

// The task of a launcher's job.
ExitCode run_tasks(const ClassOptions& options) {
  keep_what_is_done();
  std::istringstream list(read_text(options.request.folder));
  for (std::string folder; stop_asked == 0 && std::getline(list, folder);) Task(folder).run();
  return stop_asked != 0 ? ExitCode::kInterrupted : ExitCode::kPassed;
}

ExitCode unpack(const ClassOptions& options) {
  answer_in_sandbox(options.request.folder);
  return ExitCode::kPassed;
}

// The sources of an archive as files, for a check of a whole tree.
ExitCode extract(const ClassOptions& options) try {
  for (const SubmittedFile& file : read_submitted_files(options.request.folder)) {
    write_atomically(fs::path(options.output) / file.path, file.text);
  }
  return ExitCode::kPassed;
} catch (const RefusedSubmission& refused) {
  throw UsageError(refused.what());
}

void declare_grade(CLI::App& command, ClassOptions& all) {
  ClassRequest& request = all.request;
  command.add_option("--roster", request.roster);
  command.add_option("--batches", request.settings.batches);
  command.add_option("--rules", request.settings.rules)->check([](const std::string& name) {
    return parse_rules(name).rules ? "" : name;
  });
  command.add_option("--jobs", request.jobs)->check(CLI::Range(1, 1024));
  command.add_option("--limit", request.settings.limit_s)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* again = command.add_flag("--again", request.again);
  command.add_flag("--changed-rules", request.changed_rules)->needs(again);
  command.add_flag("--allow-lower", request.allow_lower)->needs(again);
  command.add_option("--leaderboard", request.leaderboard);
  command.add_flag("--no-speed", all.no_speed);
  add_launcher(command, all.launcher);
  command.add_option("--chunk", request.slurm.chunk)
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--gres", request.slurm.gres)->capture_default_str();
  command.add_option("--sbatch", request.slurm.options);
  command.add_option("--grader", request.settings.grader)->group("");  // for tests: what checks
}

void declare_comment(CLI::App& command, ClassOptions& all) {
  command.add_option("TEXT", all.text);
  command.add_option("--attempt", all.attempt);
  command.add_option("--student", all.name);
  command.add_option("--finding", all.finding);
  command.add_option("--place", all.place);
  command.add_flag("--staff", all.for_staff);
  command.add_option("--remove", all.removed)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
}

/// The commands of `grader class`, which share one set of options.
class ClassCommands {
 public:
  ClassCommands(CLI::App& app, ExitCode& exit_code)
      : group_(*app.add_subcommand("class")), exit_code_(exit_code) {
    group_.require_subcommand(1);
  }

  void add_grading() {
    begin("grade", grade).add_option("DIR", all().request.folder)->required();
    of_class();
    declare_grade(*command_, all());
    begin("status", status);
    of_class();
    command_->add_flag("--list", all().list);
    begin("show", show).add_option("NAME", all().name)->required();
    of_class();
  }

  void add_results() {
    begin("export", export_grades);
    of_class();
    command_->add_option("--format", all().format)
        ->check(CLI::IsMember({"csv", "canvas", "moodle", "gradescope", "results"}))
        ->capture_default_str();
    command_->add_option("--output", all().output);
    command_->add_option("--student", all().name);
    begin("plot", plot);
    of_class();
    command_->add_option("--output", all().output);
    command_->add_flag("--names", all().names);
    begin("similar", similar).add_option("DIR", all().request.folder)->required();
    command_->add_option("--milestone", all().request.milestone);
    command_->add_option("--roster", all().request.roster);
    command_->add_option("--least", all().least)
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }

  void add_term() {
    begin("term", term_commands::set_term).add_option("FILE", all().term_file);
    command_->add_flag("--allow-lower", all().request.allow_lower);
    command_->add_option("--database", all().database);
    begin("revoke", term_commands::revoke).add_option("NAME", all().name)->required();
    of_class()->required();
    command_->add_option("--attempt", all().attempt);
    command_->add_option("--reason", all().text);
    command_->add_option("--evidence", all().evidence);
    command_->add_flag("--undo", all().undo);
    begin("comment", term_commands::comment);
    of_class()->required();
    declare_comment(*command_, all());
    begin("feedback", term_commands::feedback).add_option("--output", all().output);
    of_class();
  }

  /// The task of a launcher's job, and the readers of archives in their sandbox.
  void add_internal() {
    begin("task", run_tasks);
    begin("unpack", unpack);
    begin("extract", extract);
    for (const char* name : {"task", "unpack", "extract"}) {
      CLI::App& command = *group_.get_subcommand(name);
      command.add_option("FILE", all().request.folder)->required();
      command.group("");
    }
    command_->add_option("FOLDER", all().output)->required();
  }

 private:
  ClassOptions& all() { return *all_; }

  CLI::App& begin(const char* name, ExitCode (*run)(const ClassOptions&)) {
    command_ = group_.add_subcommand(name);
    command_->callback([all = all_, run, &code = exit_code_] { code = run(*all); });
    return *command_;
  }

  CLI::Option* of_class() {
    command_->add_option("--database", all().database);
    return command_->add_option("--milestone", all().request.milestone)
        ->check([](const std::string& id) { return find_milestone(id).id.empty() ? id : ""; });
  }

  CLI::App& group_;
  ExitCode& exit_code_;
  std::shared_ptr<ClassOptions> all_ = std::make_shared<ClassOptions>();
  CLI::App* command_ = nullptr;  ///< whose options follow
};

}  // namespace

void add_class(CLI::App& app, ExitCode& exit_code) {
  ClassCommands commands(app, exit_code);
  commands.add_grading();
  commands.add_results();
  commands.add_term();
  commands.add_internal();
}

}  // namespace convlab::grader
