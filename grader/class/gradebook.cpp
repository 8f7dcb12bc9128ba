#include "grader/class/gradebook.hpp"

#include <algorithm>

#include "common/base/run_process.hpp"
#include "common/base/text.hpp"
#include "common/result/result_json.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

namespace {

using Columns = std::vector<std::pair<const char*, std::string>>;

// An attempt as a line of the list, with and without the rules of the term.
Columns columns_of(const SettledAttempt& each) {
  const SubmissionRow& row = each.row;
  const auto yes = [](bool value) { return value ? "yes" : "no"; };
  return {{"student", row.student},
          {"milestone", row.milestone},
          {"attempt", std::to_string(row.attempt)},
          {"received", row.received},
          {"state", to_string(row.state)},
          {"earned", points_text(row.earned)},
          {"counted", points_text(row.counted)},
          {"total", points_text(row.total)},
          {"late_days", std::to_string(each.late)},
          {"free_late_days", std::to_string(each.free)},
          {"points", points_text(each.points)},
          {"last", yes(each.last)},
          {"best", yes(each.best)},
          {"counts", yes(each.counts)},
          {"revoked", row.revoked},
          {"passed", yes(row.passed)},
          {"finding", row.finding},
          {"sentence", row.sentence},
          {"place", row.place}};
}

/// What a platform's gradebook gets, by student and milestone.
struct Entries {
  using Key = std::pair<std::string, std::string>;
  struct Entry {
    std::string points{};  ///< empty without an attempt that was graded
    std::string feedback{};
  };
  std::map<Key, Entry> by_key{};
  /// By milestone, the points to get; of submissions that were not checked only the total is known.
  std::map<std::string, std::pair<double, double>> most{};

  void add_feedback(const Key& key, const std::string& more) {
    std::string& text = by_key[key].feedback;
    if (!more.empty()) text += (text.empty() ? "" : "\n") + trimmed_end(more);
  }
};

Entries entries_of(const std::vector<SettledAttempt>& attempts, const ClassDatabase& database) {
  Entries all;
  for (const SettledAttempt& each : attempts) {
    const SubmissionRow& row = each.row;
    // A platform would make an assignment of it.
    if (!each.counts || row.milestone == kUnknownMilestone) continue;
    const Entries::Key key{row.student, row.milestone};
    double& counted = all.most[row.milestone].first;
    if (row.state == SubmissionState::kGraded) counted = std::max(counted, row.counted);
    // Where nothing could be measured, 0 would count against a right file.
    if (!row.passed || row.counted > 0.0) all.by_key[key].points = points_text(each.points);
    all.add_feedback(key, row.passed ? "passed" : row.finding);
    all.add_feedback(key, row.sentence);
    if (each.late > 0) all.add_feedback(key, settled_points(each));
    all.add_feedback(key, comments_text(row, database));
  }
  for (const auto& [whose, note] : notes_on(attempts)) {
    if (whose.second == kUnknownMilestone) continue;
    all.most[whose.second];
    all.add_feedback(whose, note);
  }
  // Also where nobody was graded, or all were revoked.
  for (const SettledAttempt& each : attempts) {
    const auto own = all.most.find(each.row.milestone);
    if (own != all.most.end()) own->second.second = std::max(own->second.second, each.row.total);
  }
  return all;
}

}  // namespace

std::string platform_csv(const std::vector<SettledAttempt>& attempts, const ClassDatabase& database,
                         bool for_canvas) {
  using Column = std::pair<const char*, std::string Student::*>;
  const auto columns = for_canvas ? std::vector<Column>{{"Student", &Student::name},
                                                        {"ID", &Student::canvas},
                                                        {"SIS User ID", &Student::number},
                                                        {"SIS Login ID", &Student::login},
                                                        {"Section", &Student::section}}
                                  : std::vector<Column>{{"Full name", &Student::name},
                                                        {"ID number", &Student::number},
                                                        {"Email address", &Student::email}};
  Entries entries = entries_of(attempts, database);
  std::vector<std::string> heading;
  std::vector<std::string> possible(columns.size());
  for (const auto& [name, field] : columns) heading.emplace_back(name);
  possible.front() = "    Points Possible";
  for (const auto& [milestone, points] : entries.most) {
    heading.push_back(milestone);
    if (!for_canvas) heading.push_back(milestone + " feedback");
    possible.push_back(points_text(points.first > 0.0 ? points.first : points.second));
  }
  std::string text = csv_line(heading) + (for_canvas ? csv_line(possible) : "");
  for (const Student& student : database.students()) {
    std::vector<std::string> line;
    for (const auto& [name, field] : columns) line.push_back(student.*field);
    for (const auto& [milestone, possible_points] : entries.most) {
      const auto& [points, feedback] = entries.by_key[{student.name, milestone}];
      line.push_back(points);
      if (!for_canvas) line.push_back(feedback);
    }
    text += csv_line(line);
  }
  return text;
}

std::string list_csv(const std::vector<SettledAttempt>& attempts) {
  std::vector<std::string> line;
  for (const auto& [name, text] : columns_of({})) line.emplace_back(name);
  std::string text = csv_line(line);
  for (const SettledAttempt& each : attempts) {
    line.clear();
    for (const auto& [name, value] : columns_of(each)) line.push_back(value);
    text += csv_line(line);
  }
  return text;
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
  const SubmissionRow& row = attempt.row;
  if (row.passed && row.counted <= 0.0) {
    return "none of " + count_of(points_text(row.total), "point") + " could be measured here";
  }
  const double possible = row.counted > 0.0 ? row.counted : row.total;
  const std::string points =
      points_text(attempt.points) + " of " + count_of(points_text(possible), "point");
  if (attempt.late == 0 || row.earned <= 0.0) return points;
  const std::string late = count_of(attempt.late, "late day");
  return points + " (" + points_text(row.earned) + " before " + late +
         (attempt.closed ? ", after which nothing is earned)"
                         : ", " + std::to_string(attempt.free) + " of them free)");
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
    const std::string points = points_tables(*check, check->score);
    if (!points.empty()) text += "\n" + points;
  }
  const std::string comments = comments_text(row, database);
  return comments.empty() ? text : text + "\n" + comments;
}

std::string gradescope_results(const SettledAttempt& attempt, const ClassDatabase& database) {
  Json tests = Json::array();
  Json leaderboard = Json::array();
  std::string output = attempt.row.sentence.empty() ? "" : attempt.row.sentence + "\n";
  const std::optional<CheckResult> check = database.result(attempt.row.id);
  if (check && check->score) {
    for (const ScoreItem& item : check->score->items) {
      if (item.credit == Credit::kNotMeasured) continue;
      std::string words = item.why + (item.why.empty() ? "" : "\n");
      if (!item.yours.empty()) words += "yours: " + item.yours;
      if (!item.reference.empty()) words += ", reference: " + item.reference;
      tests.push_back(
          {{"name", item.stage + ": " + item.item +
                        (item.batch > 0 ? " of " + std::to_string(item.batch) + " images" : "")},
           {"score", item.earned},
           {"max_score", item.points},
           {"status", item.earned >= item.points ? "passed" : "failed"},
           {"output", words},
           {"output_format", "text"},
           {"visibility", "visible"}});
      if (item.speed) {
        leaderboard.push_back({{"name", item.stage + " " + std::to_string(item.batch) + ", speed"},
                               {"value", item.speed->speed},
                               {"order", "desc"}});
      }
    }
  }
  for (const Finding& finding : check ? check->findings : std::vector<Finding>{}) {
    output += finding.id + "  " + finding.title + "\nseen: " + seen_text(finding) +
              (finding.cause.empty() ? "" : "\ncause: " + finding.cause) +
              "\nnext: " + finding.next + "\n\n";
  }
  if (output.empty()) output = "Everything that was checked passed.\n";
  if (attempt.late > 0) output += "\n" + settled_points(attempt) + "\n";
  Json json = {{"score", attempt.points},
               {"output", output + comments_text(attempt.row, database)},
               {"output_format", "text"},
               {"visibility", "visible"},
               {"stdout_visibility", "hidden"},
               {"execution_time", attempt.row.seconds},
               {"tests", tests}};
  if (!leaderboard.empty()) json["leaderboard"] = leaderboard;
  return file_text(json);
}

}  // namespace convlab::grader
