#include "grader/class/gradebook.hpp"

#include <algorithm>
#include <set>

#include "common/result/result_json.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/score_table.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

namespace {

std::set<std::string> milestones_of(const Gradebook& book) {
  std::set<std::string> names;
  for (const SubmissionRow& row : book.rows) names.insert(row.milestone);
  return names;
}

const SubmissionRow* find(const Gradebook& book, const std::string& student,
                          const std::string& milestone) {
  for (const SubmissionRow& row : book.rows) {
    if (row.student == student && row.milestone == milestone) return &row;
  }
  return nullptr;
}

double points_possible(const Gradebook& book, const std::string& milestone) {
  // A submission that was not checked has only the total points.
  double most = 0.0;
  double total = 0.0;
  for (const SubmissionRow& row : book.rows) {
    if (row.milestone != milestone) continue;
    total = std::max(total, row.total);
    if (row.state == SubmissionState::kGraded) most = std::max(most, row.counted);
  }
  return most > 0.0 ? most : total;
}

// A student without a graded submission gets no number.
std::string points_of(const SubmissionRow* row) {
  const bool open = row == nullptr || row->state == SubmissionState::kWaiting ||
                    row->state == SubmissionState::kMachine;
  return open ? "" : points_text(row->earned);
}

std::string feedback_of(const Gradebook& book, const std::string& student,
                        const std::string& milestone) {
  std::string text;
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "\n") + more;
  };
  if (const SubmissionRow* row = find(book, student, milestone)) {
    add(row->passed ? "passed" : row->finding);
    add(row->sentence);
    const auto comment = book.comments.find(row->id);
    if (comment != book.comments.end()) add(comment->second);
  }
  const auto notes = book.notes.find({student, milestone});
  if (notes != book.notes.end()) add(notes->second);
  return text;
}

bool is_hidden(const ScoreItem& item, const GradescopeSettings& settings) {
  const std::string with_batch = item.item + " " + std::to_string(item.batch);
  return std::ranges::any_of(settings.hidden, [&](const std::string& name) {
    return name == item.item || name == with_batch;
  });
}

std::string words_of(const ScoreItem& item) {
  std::string words = item.why;
  if (!item.yours.empty()) {
    words += (words.empty() ? "" : "\n") + std::string("yours: ") + item.yours;
    if (!item.reference.empty()) words += ", reference: " + item.reference;
  }
  return words;
}

Json gradescope_json(double score, const std::string& output, const Json& tests) {
  return {{"score", score},
          {"output", output},
          {"output_format", "text"},
          {"visibility", "visible"},
          {"stdout_visibility", "hidden"},
          {"tests", tests}};
}

}  // namespace

std::string canvas_csv(const Gradebook& book) {
  const auto milestones = milestones_of(book);
  std::vector<std::string> heading = {"Student", "ID", "SIS User ID", "SIS Login ID", "Section"};
  std::vector<std::string> possible = {"    Points Possible", "", "", "", ""};
  for (const std::string& milestone : milestones) {
    heading.push_back(milestone);
    possible.push_back(points_text(points_possible(book, milestone)));
  }
  std::string text = csv_line(heading) + csv_line(possible);
  for (const Student& student : book.students) {
    std::vector<std::string> line = {student.name, student.canvas, student.number, student.login,
                                     student.section};
    for (const std::string& milestone : milestones) {
      line.push_back(points_of(find(book, student.name, milestone)));
    }
    text += csv_line(line);
  }
  return text;
}

std::string moodle_csv(const Gradebook& book) {
  const auto milestones = milestones_of(book);
  std::vector<std::string> heading = {"Full name", "ID number", "Email address"};
  for (const std::string& milestone : milestones) {
    heading.push_back(milestone);
    heading.push_back(milestone + " feedback");
  }
  std::string text = csv_line(heading);
  for (const Student& student : book.students) {
    std::vector<std::string> line = {student.name, student.number, student.email};
    for (const std::string& milestone : milestones) {
      line.push_back(points_of(find(book, student.name, milestone)));
      line.push_back(feedback_of(book, student.name, milestone));
    }
    text += csv_line(line);
  }
  return text;
}

std::string list_csv(const std::vector<SettledAttempt>& attempts) {
  std::string text =
      csv_line({"student", "milestone", "attempt", "received", "state", "earned", "counted",
                "total", "late_days", "free_late_days", "points", "last", "best", "counts",
                "revoked", "passed", "finding", "sentence", "place"});
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  for (const SettledAttempt& each : attempts) {
    const SubmissionRow& row = each.row;
    text += csv_line({row.student, row.milestone, std::to_string(row.attempt), row.received,
                      to_string(row.state), points_text(row.earned), points_text(row.counted),
                      points_text(row.total), std::to_string(each.late), std::to_string(each.free),
                      points_text(each.points), yes(each.last), yes(each.best), yes(each.counts),
                      row.revoked, yes(row.passed), row.finding, row.sentence, row.place});
  }
  return text;
}

std::string list_json(const std::vector<SettledAttempt>& attempts) {
  Json list = Json::array();
  for (const SettledAttempt& each : attempts) {
    const SubmissionRow& row = each.row;
    list.push_back(
        {{"student", row.student},   {"alias", row.alias},          {"milestone", row.milestone},
         {"attempt", row.attempt},   {"received", row.received},    {"state", to_string(row.state)},
         {"earned", row.earned},     {"counted", row.counted},      {"total", row.total},
         {"late_days", each.late},   {"free_late_days", each.free}, {"points", each.points},
         {"last", each.last},        {"best", each.best},           {"counts", each.counts},
         {"revoked", row.revoked},   {"passed", row.passed},        {"finding", row.finding},
         {"sentence", row.sentence}, {"seconds", row.seconds},      {"place", row.place}});
  }
  return file_text({{"schema", "convlab-class-1"}, {"submissions", list}});
}

std::map<std::pair<std::string, std::string>, std::string> notes_on(
    const std::vector<SettledAttempt>& attempts) {
  std::map<std::pair<std::string, std::string>, std::string> notes;
  for (const SettledAttempt& each : attempts) {
    const SubmissionRow& row = each.row;
    const bool waits = row.state == SubmissionState::kWaiting && !row.sentence.empty();
    if (row.revoked.empty() && !waits) continue;
    notes[{row.student, row.milestone}] +=
        "Attempt " + std::to_string(row.attempt) + " of " + row.received +
        (waits ? " waits: " + row.sentence : " does not count: " + row.revoked) + "\n";
  }
  return notes;
}

std::string settled_points(const SettledAttempt& attempt) {
  const std::string points =
      points_text(attempt.points) + " of " + points_text(attempt.row.total) + " points";
  if (attempt.late == 0) return points;
  return points + " (" + points_text(attempt.row.earned) + " before " +
         std::to_string(attempt.late) + (attempt.late == 1 ? " late day, " : " late days, ") +
         std::to_string(attempt.free) + " of them free)";
}

std::string comments_text(const SubmissionRow& row, const ClassDatabase& database) {
  std::string text;
  for (const Comment& comment : database.comments(row)) {
    if (comment.for_staff) continue;
    text += "Comment" + (comment.finding.empty() ? "" : " on " + comment.finding) + ": " +
            comment.text + "\n";
  }
  return text;
}

std::string feedback_text(const SettledAttempt& attempt, const ClassDatabase& database) {
  const SubmissionRow& row = attempt.row;
  std::string text = row.student + ", " + row.milestone + ", attempt " +
                     std::to_string(row.attempt) + ", received " + row.received + "\n" +
                     settled_points(attempt) + "\n" +
                     (row.sentence.empty() ? "" : row.sentence + "\n");
  if (const std::optional<CheckResult> check = database.result(row.id)) {
    for (const Finding& finding : check->findings) text += "\n" + finding_text(finding);
    if (check->score) text += "\n" + score_table(*check->score);
  }
  const std::string comments = comments_text(row, database);
  return comments.empty() ? text : text + "\n" + comments;
}

std::string gradescope_results(const CheckResult& check, const GradescopeSettings& settings) {
  Json tests = Json::array();
  Json leaderboard = Json::array();
  if (check.score) {
    for (const ScoreItem& item : check.score->items) {
      if (item.credit == Credit::kNotMeasured) continue;
      const std::string name =
          item.stage + ": " + item.item +
          (item.batch > 0 ? " of " + std::to_string(item.batch) + " images" : "");
      tests.push_back({{"name", name},
                       {"score", item.earned},
                       {"max_score", item.points},
                       {"status", item.earned >= item.points ? "passed" : "failed"},
                       {"output", words_of(item)},
                       {"output_format", "text"},
                       {"visibility", is_hidden(item, settings) ? "after_published" : "visible"}});
      if (item.speed) {
        leaderboard.push_back({{"name", item.stage + " " + std::to_string(item.batch) + ", speed"},
                               {"value", item.speed->speed},
                               {"order", "desc"}});
      }
    }
  }
  std::string output;
  for (const Finding& finding : check.findings) {
    output += finding.id + "  " + finding.title + "\nseen: " + finding.seen +
              "\ncause: " + finding.cause + "\nnext: " + finding.next + "\n\n";
  }
  if (output.empty()) output = "Everything that was checked passed.\n";
  if (!settings.comments.empty()) output += "\n" + settings.comments;
  const double earned = check.score ? check.score->earned() : 0.0;
  Json json = gradescope_json(settings.points.value_or(earned), output, tests);
  if (settings.seconds > 0.0) json["execution_time"] = settings.seconds;
  if (!leaderboard.empty()) json["leaderboard"] = leaderboard;
  return file_text(json);
}

std::string gradescope_failure(const std::string& sentence) {
  return file_text(gradescope_json(0.0, sentence, Json::array()));
}

}  // namespace convlab::grader
