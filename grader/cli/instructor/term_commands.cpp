#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <set>

#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/cli/instructor/class_options.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::term_commands {

namespace {

namespace fs = std::filesystem;

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

}  // namespace

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
    for (const FindingWords& each : catalogue()) known.push_back(each.id);
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
  std::cout << "Kept; it goes to " << count_of(reached, "submission")
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

}  // namespace convlab::grader::term_commands
