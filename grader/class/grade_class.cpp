#include "grader/class/grade_class.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>

#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/checks/edition.hpp"
#include "grader/class/class_pages.hpp"
#include "grader/class/term.hpp"
#include "grader/course/course.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

bool has_ended(SubmissionState state) {
  return state == SubmissionState::kGraded || state == SubmissionState::kRefused ||
         state == SubmissionState::kStopped;
}

// "another scores.json or grader, speed 1000 of baseline: 10 instead of 4": what changed since, and
// the items of points and the findings that differ.
std::string why_moved(const SubmissionRow& row, const std::string& rules,
                      const std::optional<CheckResult>& before, const Outcome& after) {
  std::string text;
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
  };
  if (row.rules != rules) add("another scores.json or grader");
  if (!before || !before->score || !after.check || !after.check->score) {
    add(after.sentence);
    return text;
  }
  for (const ScoreItem& item : after.check->score->items) {
    const auto old = std::ranges::find_if(before->score->items, [&](const ScoreItem& each) {
      return each.stage == item.stage && each.item == item.item && each.batch == item.batch;
    });
    const double was = old == before->score->items.end() ? 0.0 : old->earned;
    if (was == item.earned) continue;
    add(item.item + (item.batch > 0 ? " " + std::to_string(item.batch) : "") + " of " + item.stage +
        ": " + points_text(item.earned) + " instead of " + points_text(was));
  }
  const auto& found = after.check->findings;
  const std::string finding = found.empty() ? "" : found.front().id;
  const auto named = [](const std::string& id) { return id.empty() ? "no finding" : id; };
  if (finding != row.finding) add(named(finding) + " instead of " + named(row.finding));
  return text;
}

/// One unfinished submission.
struct Pending {
  std::int64_t id = 0;
  std::int64_t student = 0;
  MilestoneWork work{};
};

class ClassGrading {
 public:
  explicit ClassGrading(const ClassRequest& request)
      : request_(request),
        database_(request.database, ClassDatabase::Access::kGrade),
        work_folder_(request.database.string() + ".work"),
        term_(term_in_force(database_)) {}

  ExitCode run(const std::vector<Student>& roster, const std::vector<FoundSubmission>& found) {
    database_.add_students(roster);
    collect_leftovers();
    for (const FoundSubmission& each : found) {
      if (stop_asked != 0) break;
      // The roster and the database may lie in the folder of submissions.
      if (is_own_file(each.place)) continue;
      FoundSubmission submission = each;
      // A time before the term tells nothing, and everything with it would be in time.
      if (time_of(each.received).value_or(0) < term_.begins) {
        submission.received = arrival_of(each.place);
      }
      look_into(submission);
    }
    if (known_ > 0) std::cout << known_ << " of " << submissions_ << " are graded already.\n";
    if (judged_ > 0) std::cout << judged_ << " judged by the evidence of their last check.\n";
    run_phase(pending_, request_.on_cluster ? Task::Phase::kBoth : Task::Phase::kCorrectness);
    run_phase(checked_, Task::Phase::kTimes);
    return finish();
  }

 private:
  [[nodiscard]] Task task_of(std::int64_t id) const {
    return Task(work_folder_ / std::to_string(id));
  }

  [[nodiscard]] bool is_own_file(const fs::path& place) const {
    std::error_code missing;
    return place.string().starts_with(request_.database.string()) ||
           (!request_.roster.empty() && fs::equivalent(place, request_.roster, missing));
  }

  // Collects outcomes that tasks wrote after the last grader had been killed.
  void collect_leftovers() {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(work_folder_, missing)) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::int64_t id = std::stoll(name);
      try {
        // Correctness alone, of a run that graded again: the rules may be others by now.
        if (keep(id, Task(entry.path())) == SubmissionState::kChecked) Task(entry.path()).remove();
      } catch (const Error&) {
        Task(entry.path()).remove();  // half of something; it is graded again
      }
    }
  }

  // Stores an outcome, if there is one, and removes the task.
  // @return the state that the task ended with
  std::optional<SubmissionState> keep(std::int64_t id, const Task& task) {
    const std::optional<Outcome> outcome = task.outcome();
    const std::optional<SubmissionRow> row = database_.submission(id);
    if (!outcome || !row) return std::nullopt;
    const std::string rules = rules_now(row->milestone);
    const auto text = [](const std::optional<CheckResult>& check) {
      return check ? to_json(*check) : std::string();
    };
    // The last grader may have been killed after it had stored the outcome.
    const bool is_stored = row->state == outcome->state && row->sentence == outcome->sentence &&
                           row->rules == rules &&
                           text(database_.result(id)) == text(outcome->check);
    // Where it is graded again, the old outcome stays until the times are taken, too.
    if (has_ended(row->state) && outcome->state == SubmissionState::kChecked) return outcome->state;
    if (!is_stored && (!has_ended(row->state) || may_replace(*row, *outcome, rules))) {
      database_.set_outcome(id, *outcome, rules);
    }
    task.remove();
    return outcome->state;
  }

  // Notes how the points of a submission that is graded again move.
  bool may_replace(const SubmissionRow& row, const Outcome& outcome, const std::string& rules) {
    if (outcome.state == SubmissionState::kMachine) {
      falls_ += paragraph(
          "  ", row.student + " " + row.milestone + ": not graded again, " + outcome.sentence);
      return false;
    }
    const auto points = outcome.check ? outcome.check->points() : std::nullopt;
    const double earned = points ? points->earned : 0.0;
    if (earned == row.earned) return true;
    const bool falls = earned < row.earned && !request_.allow_lower;
    const std::string why = why_moved(row, rules, database_.result(row.id), outcome);
    (falls ? falls_ : moved_) += paragraph(
        "  ", row.student + " " + row.milestone + ": " + points_text(earned) + " instead of " +
                  points_text(row.earned) + (why.empty() ? "." : " (" + why + ")."));
    return !falls;
  }

  // What the points of a milestone depend on beside the submission: the digest of its scores.json
  // and the commit of the grader.
  const std::string& rules_now(const std::string& milestone) {
    std::string& rules = rules_[milestone];
    if (rules.empty()) {
      const fs::path file = find_milestone(milestone).folder / "scores.json";
      constexpr std::size_t kShort = 12;
      rules =
          fs::exists(file) ? describe_files({file}).front().sha256.substr(0, kShort) : "no-rules";
      if (const auto named = find_task(milestone)) {
        rules =
            describe_files({edition_file(named->edition.name)}).front().sha256.substr(0, kShort);
      }
      rules += " " + describe_machine().commit;
    }
    return rules;
  }

  bool is_asked_again(const SubmissionRow& row) {
    return request_.again && (!request_.changed_rules || row.rules != rules_now(row.milestone));
  }

  void look_into(const FoundSubmission& found) {
    const std::int64_t student = database_.add_student(found.student);
    std::vector<MilestoneWork> works;
    TreeNotes notes;
    if (left_for(student) <= 0.0) {  // it waits for the next run, unread
      ++unread_;
      return;
    }
    const StudentClock clock(used_s_[student]);
    try {
      const std::string place = found.place.filename().string();
      works = work_of(read_submitted_files(found.place), request_.milestone, place,
                      request_.settings.rules, &notes);
    } catch (const RefusedSubmission& refused) {
      refuse(student, found, refused.what(), SubmissionState::kRefused);
    } catch (const EnvironmentError& error) {
      refuse(student, found, error.what(), SubmissionState::kMachine);
    }
    const std::string choice = choice_among(notes.editions);
    if (!choice.empty() && told_.insert(choice).second) {
      std::cout << paragraph("", found.student.name + ": " + choice);
    }
    if (!notes.not_judged.empty()) {
      std::cout << paragraph("", found.student.name + ": not judged: " +
                                     printable_line(joined(notes.not_judged)) + ".");
    }
    for (MilestoneWork& work : works) {
      require_program(work.milestone);
      const std::int64_t id =
          database_.add_submission(student, work.milestone, digest_of(work), found);
      database_.keep_notes(student, work.milestone, work.notebook, work.history);
      add(id, student, std::move(work));
    }
  }

  /// Adds its own life to the seconds that a student's submissions have taken.
  class StudentClock {
   public:
    explicit StudentClock(double& used_s) : used_s_(used_s) {}
    StudentClock(const StudentClock&) = delete;
    StudentClock& operator=(const StudentClock&) = delete;
    ~StudentClock() {
      used_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

   private:
    double& used_s_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  double left_for(std::int64_t student) { return request_.settings.limit_s - used_s_[student]; }

  static void require_program(const std::string& milestone) {
    const fs::path program = program_of(find_milestone(milestone).id, "student");
    if (fs::exists(program)) return;
    throw EnvironmentError(program.string() +
                           " is not built; build it: cmake --build --preset lab");
  }

  void add(std::int64_t id, std::int64_t student, MilestoneWork work) {
    if (!seen_.insert(id).second) return;  // the same files twice
    ++submissions_;
    const SubmissionRow row = *database_.submission(id);
    if (has_ended(row.state) && is_asked_again(row)) {
      if (!judge_kept_evidence(row)) pending_.push_back({id, student, std::move(work)});
      return;
    }
    if (row.state == SubmissionState::kWaiting && is_held(row)) return;
    switch (row.state) {
      case SubmissionState::kWaiting:
      case SubmissionState::kMachine:
        pending_.push_back({id, student, std::move(work)});
        break;
      case SubmissionState::kChecked:
        if (request_.settings.measures_speed) checked_.push_back({id, student, std::move(work)});
        break;
      default:
        ++known_;
    }
  }

  // Where only the rules changed, the evidence of the last check is judged by them.
  // @return false if the submission must run
  bool judge_kept_evidence(const SubmissionRow& row) {
    const TaskSettings settings = settings_for(row.milestone);
    const std::string& rules = rules_now(row.milestone);
    const std::optional<CheckResult> kept = database_.result(row.id);
    if (row.state != SubmissionState::kGraded || row.rules == rules || !kept) return false;
    const std::optional<CheckResult> check = judged_again(*kept, settings, row.milestone);
    if (!check) return false;
    const Outcome outcome{.state = SubmissionState::kGraded,
                          .sentence = row.sentence,
                          .seconds = row.seconds,
                          .check = check};
    if (may_replace(row, outcome, rules)) database_.set_outcome(row.id, outcome, rules);
    ++judged_;
    return true;
  }

  // The brake on guessing: more attempts than allowed wait for an hour, and are graded then.
  bool is_held(const SubmissionRow& row) {
    const auto received = time_of(row.received);
    const int limit = term_.attempts_per_hour;
    if (limit == 0 || !received) return false;
    const std::int64_t before = database_.run(
        "SELECT count(*) FROM submission s JOIN submission e ON e.student = s.student AND "
        "e.milestone = s.milestone WHERE s.id = ? AND (e.received, e.id) < (s.received, s.id) AND "
        "e.received > strftime('%Y-%m-%dT%H:%M:%SZ', s.received, '-1 hour')",
        row.id);
    if (before < limit) return false;
    constexpr std::int64_t kHour = 3600;
    if (std::time(nullptr) >= *received + kHour) return false;
    database_.run("UPDATE submission SET sentence = ? WHERE id = ?",
                  "More than " + std::to_string(limit) +
                      " attempts within an hour: this one is graded from " +
                      utc_text(*received + kHour) + " on. Until then: build/bin/grader hint " +
                      row.milestone + ", and the chapter of " + row.milestone + ".",
                  row.id);
    print(row.id);
    return true;
  }

  void refuse(std::int64_t student, const FoundSubmission& found, const std::string& sentence,
              SubmissionState state) {
    // If a submission cannot be read, its name may contain the milestone.
    const std::string named = milestone_in(found.place.filename().string());
    const std::string milestone = !request_.milestone.empty() ? request_.milestone
                                  : !named.empty()            ? named
                                                              : kUnknownMilestone;
    const std::int64_t id =
        database_.add_submission(student, milestone, "unread " + found.place.string(), found);
    ++submissions_;
    const Outcome outcome{.state = state, .sentence = printable_line(sentence)};
    const SubmissionRow row = *database_.submission(id);
    if (row.state == state && row.sentence == outcome.sentence) {
      ++known_;
    } else {
      database_.set_outcome(id, outcome);
      print(id);
    }
  }

  [[nodiscard]] TaskSettings settings_for(const std::string& milestone) const {
    TaskSettings settings = request_.settings;
    if (settings.rules.empty()) settings.rules = term_.rules;
    settings.precision = term_.precision;
    settings.measures_speed = settings.measures_speed &&
                              fs::exists(program_of(find_milestone(milestone).id, "reference"));
    return settings;
  }

  void run_phase(const std::vector<Pending>& submissions, Task::Phase phase) {
    if (submissions.empty() || stop_asked != 0) return;
    std::vector<Task> tasks;
    for (const Pending& each : submissions) {
      tasks.push_back(task_of(each.id));
      std::optional<CheckResult> checked;
      if (phase == Task::Phase::kTimes) {
        const std::optional<Outcome> again = tasks.back().outcome();  // of keep()
        checked = again ? again->check : database_.result(each.id);
      }
      tasks.back().write(each.work, settings_for(each.work.milestone), phase, checked);
    }
    std::size_t done = 0;
    const std::string what = phase == Task::Phase::kTimes ? "timed " : "graded ";
    const auto announce = [&] {
      progress_.show(what + std::to_string(done) + " of " + std::to_string(tasks.size()));
    };
    announce();
    const auto ended = [&](std::size_t index) {
      const Pending& each = submissions[index];
      const std::optional<SubmissionState> state = keep(each.id, tasks[index]);
      if (!state) return;
      ++done;
      progress_.clear();
      if (state == SubmissionState::kChecked) {
        checked_.push_back(each);
      } else {
        print(each.id);
      }
      announce();
    };
    if (phase == Task::Phase::kBoth) {
      const auto waits = [&](const std::string& jobs) {
        progress_.show("waiting for Slurm: " + what + std::to_string(done) + " of " +
                       std::to_string(tasks.size()) + ", " + jobs);
      };
      run_through_slurm(tasks, request_.slurm, request_.settings.limit_s, ended, waits);
    } else {  // times alone: nothing else of this class runs then
      StudentTime time;
      for (const Pending& each : submissions) time.students.push_back(each.student);
      time.left = [&](std::size_t index) { return left_for(time.students[index]); };
      time.is_rest = [&](std::size_t index) {
        const std::set<std::int64_t>& ids = have_run_[time.students[index]];
        return ids.size() > ids.count(submissions[index].id);
      };
      time.spend = [&](std::size_t index, double seconds) {
        used_s_[time.students[index]] += seconds;
        have_run_[time.students[index]].insert(submissions[index].id);
      };
      run_locally(tasks, phase == Task::Phase::kTimes ? 1 : request_.jobs, time, ended);
    }
    progress_.clear();
  }

  void write_leaderboard() const {
    if (request_.leaderboard.empty()) return;
    write_atomically(request_.leaderboard,
                     html_of(leaderboard_page(database_), course_folder() / "grader/report/pages"));
  }

  void print(std::int64_t id) {
    write_leaderboard();
    std::cout << row_text(*database_.submission(id), false) << std::flush;
    ++printed_;
  }

  ExitCode finish() {
    std::map<std::string, int> counts;  // by state
    for (const auto& row : database_.table("states").rows) counts[row[1]] += std::stoi(row[2]);
    const int open = counts["waiting"] + counts["checked"] + unread_;
    if (stop_asked != 0) {
      std::cout << "Stopped. " << printed_ << " were graded now and are kept in "
                << display_path(request_.database)
                << "; the same command goes on with the others.\n";
      return ExitCode::kInterrupted;
    }
    std::error_code ignored;
    if (open == 0) fs::remove_all(work_folder_, ignored);
    write_leaderboard();  // also if nothing is new: somebody may have been revoked
    if (!moved_.empty()) std::cout << "Points that moved:\n" << moved_;
    if (!falls_.empty()) {
      std::cout << "Nothing was stored for these submissions (--allow-lower lets points fall):\n"
                << falls_;
    }
    std::cout << display_path(request_.database) << " holds " << counts["graded"] << " graded, "
              << counts["refused"] << " refused and " << counts["stopped"]
              << " stopped submissions";
    if (open > 0) std::cout << ", and " << open << " that are not done";
    std::cout << ".\n";
    const int faults = counts["machine"];
    if (faults == 0) return falls_.empty() ? ExitCode::kPassed : ExitCode::kFallsShort;
    std::cout << paragraph("", "For " + std::to_string(faults) +
                                   " the machine was at fault: fix that, and the same command "
                                   "grades them.");
    return ExitCode::kEnvironment;
  }

  const ClassRequest& request_;
  ClassDatabase database_;
  fs::path work_folder_;
  Term term_;
  std::string moved_;
  std::string falls_;
  ProgressLine progress_;
  std::vector<Pending> pending_;
  std::vector<Pending> checked_;
  std::set<std::int64_t> seen_;
  std::map<std::int64_t, double> used_s_;                    // by student
  std::map<std::int64_t, std::set<std::int64_t>> have_run_;  // submissions, by student
  std::set<std::string> told_;                               // choices of an edition, each once
  std::map<std::string, std::string> rules_;                 // of each milestone, see rules_now()
  std::size_t submissions_ = 0;  ///< a tree holds one for each of its tasks
  std::size_t known_ = 0;
  std::size_t judged_ = 0;
  int printed_ = 0;
  int unread_ = 0;  ///< archives of students whose others took all the time (--limit)
};

}  // namespace

std::string row_text(const SubmissionRow& row, bool with_attempt) {
  const bool is_task = row.milestone.size() > 2;  // "sp25-competition"
  std::string label = left(short_line(row.student, 24), with_attempt ? 24 : 12) + "  " +
                      left(row.milestone, is_task ? 16 : 2) + "  ";
  if (with_attempt) label += left("attempt " + std::to_string(row.attempt), 10) + "  ";
  const std::string points =
      right(points_text(row.earned) + "/" + points_text(row.counted), 9) + "  ";
  std::string words;
  if (row.state == SubmissionState::kGraded || row.state == SubmissionState::kChecked) {
    words = row.passed ? "passed" : row.finding.empty() ? "not passed" : row.finding;
    if (row.state == SubmissionState::kChecked) words += ", times to come";
    if (!row.sentence.empty()) words += ". " + row.sentence;
  } else {
    words = std::string(to_string(row.state)) + (row.sentence.empty() ? "" : ": " + row.sentence);
  }
  if (!row.revoked.empty()) words = "revoked: " + row.revoked;
  return hanging(label + points, display_width(label + points), words);
}

ExitCode grade_class(const ClassRequest& request) {
  // First, so that a wrong folder or roster leaves no database behind.
  const std::vector<Student> roster = read_roster(request.roster);
  std::vector<std::string> asked;
  const auto found = find_submissions(request.folder, roster, &asked);
  const ExitCode code =
      found.empty() ? ExitCode::kPassed : ClassGrading(request).run(roster, found);
  if (asked.empty() || code == ExitCode::kInterrupted) return code;
  std::cout << "Not graded before this is answered:\n";
  for (const std::string& question : asked) std::cout << paragraph("  ", printable_line(question));
  return ExitCode::kUsage;
}

}  // namespace convlab::grader
