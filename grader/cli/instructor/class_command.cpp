#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "common/base/printable.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/findings/catalogue.hpp"
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

/// Of all commands; each takes some of them.
struct ClassOptions {
  std::string database;
  ClassRequest request{.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  std::string launcher = "local";
  bool no_speed = false;
  bool list = false;
  std::string name;
  std::string format = "csv";
  std::string output;
  bool names = false;
  double least = 0.5;
  std::string term_file;
  int attempt = 0;
  std::string finding;
  std::string place;
  std::string text;
  std::string evidence;
  std::int64_t removed = 0;
  bool undo = false;
  bool for_staff = false;

  /// The file of the class: the one named, or the usual one.
  [[nodiscard]] fs::path file() const {
    return database.empty() ? class_folder() / "class.db" : fs::path(database);
  }
  [[nodiscard]] fs::path output_or(const char* usual) const {
    return output.empty() ? class_folder() / usual : fs::path(output);
  }
};

ClassDatabase open_database(const ClassOptions& options) {
  return {options.file(), ClassDatabase::Access::kRead};
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
    if (check->score) std::cout << score_table(*check->score);
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
    const auto check = each.counts ? database.result(each.row.id) : std::nullopt;
    if (!check) continue;
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
ExitCode run_tasks(const ClassOptions& options) {
  keep_what_is_done();
  std::vector<Task> tasks;
  std::istringstream list(read_text(options.request.folder));
  for (std::string folder; std::getline(list, folder);) tasks.emplace_back(folder);
  run_locally(tasks, 1, [](std::size_t) {});
  return stop_asked != 0 ? ExitCode::kInterrupted : ExitCode::kPassed;
}

ExitCode unpack(const ClassOptions& options) {
  answer_in_sandbox(options.request.folder);
  return ExitCode::kPassed;
}

// The attempt that a command names; without a number the last one. It only reads: for somebody who
// is unknown nothing is locked or written.
SubmissionRow attempt_of(const ClassOptions& options) {
  const ClassDatabase database = open_database(options);
  const auto rows = database.submissions(options.name, options.request.milestone);
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (options.attempt == 0 || row->attempt == options.attempt) return *row;
  }
  throw UsageError("There is no " +
                   (options.attempt > 0 ? "attempt " + std::to_string(options.attempt)
                                        : std::string("submission")) +
                   " of '" + printable_line(options.name) + "' for " +
                   printable_line(options.request.milestone) +
                   "; grader class status --list shows all.");
}

void print_term(const ClassDatabase& database) {
  for (const std::string& text : database.texts("SELECT json FROM term")) std::cout << text << "\n";
  const auto students = database.students();
  for (const auto& [whose, due] : term_in_force(database).extensions) {
    if (std::ranges::find(students, whose.first, &Student::name) != students.end()) continue;
    std::cout << "The class has nothing yet of " << whose.first << ", who has an extension.\n";
  }
}

// Refuses a file of another year. @param rows  all submissions of the class
void require_right_year(const std::vector<SubmissionRow>& rows, const Term& term,
                        const std::string& file) {
  constexpr std::int64_t kMonth = 31 * 86'400;
  std::vector<std::int64_t> times;
  for (const SubmissionRow& row : rows) {
    if (const auto received = time_of(row.received)) times.push_back(*received);
  }
  if (rows.empty()) times = {std::max<std::int64_t>(std::time(nullptr), term.begins)};
  const bool fits = times.empty() || std::ranges::any_of(times, [&](std::int64_t time) {
                      return time >= term.begins - kMonth && time <= term.ends + kMonth;
                    });
  if (fits) return;
  throw UsageError("The term file " + file + " is for " + utc_text(term.begins) + " to " +
                   utc_text(term.ends) + ", and the submissions are of other times (the first of " +
                   utc_text(times.front()) + "); is it the file of another year?");
}

// How many points the term file moves. @throws UsageError if the file is refused
int moved_by(const ClassOptions& options, const std::string& text,
             const std::vector<SubmissionRow>& rows, const std::vector<Student>& students,
             const Term& before) {
  const Term term = parse_term(text, options.term_file, students);
  for (const auto& [milestone, due] : term.due) find_milestone(milestone);
  require_right_year(rows, term, options.term_file);
  if (!before.name.empty() && before.name != term.name) {
    throw UsageError("The database holds the term " + before.name + ", and " + options.term_file +
                     " is for " + term.name + "; name another --database for another term.");
  }
  std::map<std::string, double> then;  // by student and milestone
  for (const SubmissionRow& row : counting(rows, term)) {
    then[row.student + " " + row.milestone] = row.earned;
  }
  std::string falls;
  int moved = 0;
  for (const SubmissionRow& row : counting(rows, before)) {
    const std::string whose = row.student + " " + row.milestone;
    if (then[whose] != row.earned) ++moved;
    if (then[whose] >= row.earned) continue;
    falls += paragraph("  ", whose + ": " + points_text(then[whose]) + " instead of " +
                                 points_text(row.earned) + ".");
  }
  // The first term file may take points away: late work had no penalty before.
  if (!falls.empty() && !before.name.empty() && !options.request.allow_lower) {
    std::cerr << falls;
    throw UsageError(
        "With these rules the points above would fall, so nothing was changed; --allow-lower "
        "changes the rules all the same.");
  }
  return moved;
}

ExitCode set_term(const ClassOptions& options) {
  const fs::path file = options.file();
  if (options.term_file.empty()) {
    const ClassDatabase database = open_database(options);
    if (term_in_force(database).name.empty()) {
      throw UsageError("No term file is in force; name one: grader class term FILE");
    }
    print_term(database);
    return ExitCode::kPassed;
  }
  const std::string text = read_text(options.term_file);
  // For a file that is refused nothing is made, locked or written: the database is only read.
  int moved = 0;
  if (fs::exists(file) && !fs::is_empty(file)) {
    const ClassDatabase old = open_database(options);
    moved = moved_by(options, text, old.submissions(), old.students(), term_in_force(old));
  } else {
    moved_by(options, text, {}, {}, {});
  }
  ClassDatabase database(file, ClassDatabase::Access::kGrade);
  database.run("INSERT OR REPLACE INTO term VALUES (1, ?)", text);
  print_term(database);
  std::cout << "In force; the points of " << moved << " students and milestones move.\n";
  return ExitCode::kPassed;
}

ExitCode revoke(const ClassOptions& options) {
  const SubmissionRow row = attempt_of(options);
  const std::string what =
      row.student + " " + row.milestone + " attempt " + std::to_string(row.attempt);
  if (options.undo) {
    if (row.revoked.empty()) throw UsageError(what + " is not revoked.");
    ClassDatabase(options.file(), ClassDatabase::Access::kChange)
        .run("UPDATE revocation SET restored = ? WHERE submission = ? AND restored = ''", utc_now(),
             row.id);
    std::cout << what << " counts again; reason and evidence are kept.\n";
    return ExitCode::kPassed;
  }
  if (options.text.empty()) throw UsageError("A revocation needs a reason: --reason TEXT");
  if (!row.revoked.empty()) {
    throw UsageError(what + " is revoked already (" + row.revoked + "); --undo lets it count.");
  }
  std::string evidence = printable_line(options.evidence);
  if (fs::is_regular_file(options.evidence)) {  // which may be another one tomorrow
    const fs::path kept = fs::path(options.file().string() + ".evidence") /
                          (std::to_string(row.id) + "-" + std::to_string(std::time(nullptr)) + "-" +
                           fs::path(evidence).filename().string());
    write_atomically(kept, read_text(options.evidence));
    evidence = kept.string();
  }
  ClassDatabase(options.file(), ClassDatabase::Access::kChange)
      .run("INSERT INTO revocation (submission, reason, evidence, revoked) VALUES (?, ?, ?, ?)",
           row.id, printable_line(options.text), evidence, utc_now());
  std::cout << paragraph("", what +
                                 " no longer counts, and no plot or rank shows it; a page of "
                                 "--leaderboard from the next class grade on. --undo lets it "
                                 "count.");
  return ExitCode::kPassed;
}

ExitCode comment(const ClassOptions& options) {
  if (options.removed > 0) {
    if (ClassDatabase(options.file(), ClassDatabase::Access::kChange)
            .run("DELETE FROM comment WHERE id = ? RETURNING 1", options.removed) == 0) {
      throw UsageError("There is no comment " + std::to_string(options.removed) +
                       "; grader class show NAME shows the numbers.");
    }
    std::cout << "Removed; it goes to nobody from now on.\n";
    return ExitCode::kPassed;
  }
  if (options.text.empty() || options.name.empty() == options.finding.empty()) {
    throw UsageError(
        "A comment has a text, and goes to a submission (--student NAME) or to a finding "
        "(--finding ID, with --place for one place); name one of them.");
  }
  if (!options.finding.empty()) {
    std::vector<std::string> known;
    for (const Diagnosis& each : catalogue()) known.push_back(each.id);
    if (std::ranges::find(known, options.finding) == known.end()) {
      const std::string meant = name_meant(options.finding, known);
      throw UsageError(
          "There is no finding '" + printable_line(options.finding) + "'" +
          (meant.empty() ? "; docs/diagnoses.md lists all." : ". Did you mean " + meant + "?"));
    }
  }
  const std::int64_t submission = options.name.empty() ? 0 : attempt_of(options).id;
  const ClassDatabase database(options.file(), ClassDatabase::Access::kChange);
  const std::int64_t id = database.run(
      "INSERT INTO comment (milestone, finding, place, submission, text, for_staff, written) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
      options.request.milestone, options.finding, options.place, submission,
      printable(options.text), options.for_staff, utc_now());
  int reached = 0;
  for (const SubmissionRow& row : database.submissions("", options.request.milestone)) {
    const auto own = database.comments(row);
    if (!own.empty() && own.back().id == id) ++reached;
  }
  std::cout << "Kept; it goes to " << reached << (reached == 1 ? " submission" : " submissions")
            << (options.for_staff ? ", for staff only" : "") << ".\n";
  return ExitCode::kPassed;
}

ExitCode feedback(const ClassOptions& options) {
  const ClassDatabase database = open_database(options);
  const fs::path folder = options.output_or("feedback");
  int files = 0;
  std::map<std::string, int> from_canvas;  // by milestone
  const auto attempts = settled(database.submissions(), term_in_force(database));
  const auto notes = notes_on(attempts);
  // By student and milestone the attempt that counts; without one the last.
  std::map<std::pair<std::string, std::string>, const SettledAttempt*> chosen;
  for (const SettledAttempt& each : attempts) {
    const SettledAttempt*& place = chosen[{each.row.student, each.row.milestone}];
    if (place == nullptr || !place->counts) place = &each;
  }
  std::set<std::pair<std::string, fs::path>> named;  // with the milestone
  for (const auto& [whose, attempt] : chosen) {
    const SettledAttempt& each = *attempt;
    const auto note = notes.find(whose);
    const bool is_wanted =
        options.request.milestone.empty() || whose.second == options.request.milestone;
    if (!is_wanted || (!each.counts && note == notes.end())) continue;
    // Named as the submission: platforms give it back to its student by this name. In Moodle's
    // folders all have the same name.
    const fs::path place = each.row.place;
    const fs::path folder_of_one = place.parent_path().filename();
    const bool in_moodle = folder_of_one.string().find("_assignsubmission_") != std::string::npos;
    fs::path name = without_ending(place.filename()) + ".txt";
    if (in_moodle || !named.emplace(whose.second, name).second) name = folder_of_one / name;
    const std::string text =
        (each.counts ? feedback_text(each, database)
                     : whose.first + ", " + whose.second + "\nNothing counts so far.\n") +
        (note == notes.end() ? "" : "\n" + note->second);
    write_atomically(folder / each.row.milestone / name, text);
    if (!canvas_id(name.string()).empty()) ++from_canvas[each.row.milestone];
    ++files;
  }
  std::cout << files << " files in " << display_path(fs::absolute(folder)) << "\n";
  for (const auto& [milestone, count] : from_canvas) {
    std::cout << count << " in " << milestone
              << " are for Canvas: pack them into a zip; in Canvas, "
              << "Gradebook, " << milestone << ", Upload Submissions\n";
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_class(CLI::App& app, ExitCode& exit_code) {
  CLI::App* group = app.add_subcommand("class");
  group->require_subcommand(1);
  const auto all = std::make_shared<ClassOptions>();
  CLI::App* command = nullptr;  // whose options follow
  const auto begin = [&](const char* name, ExitCode (*run)(const ClassOptions&)) {
    command = group->add_subcommand(name);
    command->callback([all, run, &exit_code] { exit_code = run(*all); });
  };
  ClassRequest& request = all->request;
  const auto of_class = [&] {
    command->add_option("--database", all->database);
    return command->add_option("--milestone", request.milestone)->check([](const std::string& id) {
      return find_milestone(id).id.empty() ? id : "";
    });
  };
  begin("grade", grade);
  command->add_option("DIR", request.folder)->required();
  of_class();
  command->add_option("--roster", request.roster);
  command->add_option("--batches", request.settings.batches);
  command->add_option("--jobs", request.jobs)->check(CLI::Range(1, 1024));
  command->add_option("--limit", request.settings.limit_s)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* again = command->add_flag("--again", request.again);
  command->add_flag("--changed-rules", request.changed_rules)->needs(again);
  command->add_flag("--allow-lower", request.allow_lower)->needs(again);
  command->add_option("--leaderboard", request.leaderboard);
  command->add_flag("--no-speed", all->no_speed);
  add_launcher(*command, all->launcher);
  command->add_option("--chunk", request.slurm.chunk)
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--gres", request.slurm.gres)->capture_default_str();
  command->add_option("--sbatch", request.slurm.options);
  command->add_option("--grader", request.settings.grader)->group("");  // for tests: what checks

  begin("status", status);
  of_class();
  command->add_flag("--list", all->list);

  begin("show", show);
  command->add_option("NAME", all->name)->required();
  of_class();

  begin("export", export_grades);
  of_class();
  command->add_option("--format", all->format)
      ->check(CLI::IsMember({"csv", "canvas", "moodle", "gradescope", "results"}))
      ->capture_default_str();
  command->add_option("--output", all->output);
  command->add_option("--student", all->name);

  begin("term", set_term);
  command->add_option("FILE", all->term_file);
  command->add_flag("--allow-lower", request.allow_lower);
  command->add_option("--database", all->database);

  begin("revoke", revoke);
  command->add_option("NAME", all->name)->required();
  of_class()->required();
  command->add_option("--attempt", all->attempt);
  command->add_option("--reason", all->text);
  command->add_option("--evidence", all->evidence);
  command->add_flag("--undo", all->undo);

  begin("comment", comment);
  command->add_option("TEXT", all->text);
  of_class()->required();
  command->add_option("--attempt", all->attempt);
  command->add_option("--student", all->name);
  command->add_option("--finding", all->finding);
  command->add_option("--place", all->place);
  command->add_flag("--staff", all->for_staff);
  command->add_option("--remove", all->removed)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));

  begin("feedback", feedback);
  command->add_option("--output", all->output);
  of_class();

  begin("plot", plot);
  of_class();
  command->add_option("--output", all->output);
  command->add_flag("--names", all->names);

  begin("similar", similar);
  command->add_option("DIR", request.folder)->required();
  command->add_option("--milestone", request.milestone);
  command->add_option("--roster", all->request.roster);
  command->add_option("--least", all->least)->check(CLI::Range(0.0, 1.0))->capture_default_str();

  // Internal commands: the task of a launcher's job, and the reader of archives in its sandbox.
  for (const bool task : {true, false}) {
    begin(task ? "task" : "unpack", task ? run_tasks : unpack);
    command->add_option("FILE", request.folder)->required();
    command->group("");
  }
}

}  // namespace convlab::grader
