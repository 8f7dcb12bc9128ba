#include "grader/class/term.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/result/json_fields.hpp"

namespace convlab::grader {

namespace {

constexpr std::int64_t kDay = 86'400;

/// Reads the fields of a term file, each once, and complains in terms of the file.
class TermReader {
 public:
  TermReader(const std::string& name, const std::vector<Student>& students, bool strict)
      : name_(name), students_(students), strict_(strict && !students.empty()) {}

  Term read(const Json& json) const {
    require_known(json, {"term", "begins", "ends", "late_days", "penalty_percent_per_day",
                         "closes_after_days", "counts", "attempts_per_hour", "due", "extensions"});
    for (const char* field : {"term", "begins", "ends", "due"}) {
      if (!json.contains(field)) fail("\"" + std::string(field) + "\" is missing");
    }
    Term term{.name = json.at("term").get<std::string>(),
              .begins = time(json, "begins"),
              .ends = time(json, "ends"),
              .late_days = number(json, "late_days", 366),
              .penalty = static_cast<double>(number(json, "penalty_percent_per_day", 100)),
              .closes_after = number(json, "closes_after_days", 366),
              .attempts_per_hour = number(json, "attempts_per_hour", 3600)};
    if (term.ends <= term.begins) fail("\"ends\" must be after \"begins\"");
    const std::string counts = json.value("counts", "last");
    if (counts != "last" && counts != "best") fail("\"counts\" must be \"last\" or \"best\"");
    term.best = counts == "best";
    for (const auto& [milestone, due] : json.at("due").items()) {
      term.due[milestone] = within(term, time_of_text(due, milestone), "due." + milestone);
    }
    if (json.contains("extensions")) {
      for (const Json& each : json.at("extensions")) add_extension(term, each);
    }
    return term;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError("The term file " + name_ + ": " + what + ".");
  }

  void require_known(const Json& json, const std::set<std::string>& known) const {
    for (const auto& [key, value] : json.items()) {
      if (known.count(key) == 0) fail("nothing is called \"" + printable_line(key) + "\"");
    }
  }

  [[nodiscard]] std::int64_t time_of_text(const Json& json, const std::string& field) const {
    const auto text = json.get<std::string>();
    const auto time = time_of(text);
    if (!time) {
      fail("\"" + printable_line(text) + "\" of \"" + printable_line(field) +
           "\" is no time; write it with its zone, like 2027-02-01T23:59-06:00");
    }
    return *time;
  }

  [[nodiscard]] std::int64_t time(const Json& json, const char* field) const {
    return time_of_text(json.at(field), field);
  }

  [[nodiscard]] std::int64_t within(const Term& term, std::int64_t time,
                                    const std::string& field) const {
    if (time >= term.begins && time <= term.ends) return time;
    fail("\"" + printable_line(field) + "\", " + utc_text(time) + ", lies outside the term " +
         printable_line(term.name) + ", " + utc_text(term.begins) + " to " + utc_text(term.ends));
  }

  [[nodiscard]] int number(const Json& json, const char* field, int most) const {
    if (!json.contains(field)) return 0;
    const auto value = json.at(field).get<double>();
    if (!(value >= 0 && value <= most) || value != std::floor(value)) {
      fail("\"" + std::string(field) + "\" must be a whole number from 0 to " +
           std::to_string(most));
    }
    return static_cast<int>(value);
  }

  void add_extension(Term& term, const Json& json) const {
    require_known(json, {"student", "milestone", "due", "reason"});
    const auto student = json.at("student").get<std::string>();
    const auto milestone = json.at("milestone").get<std::string>();
    if (term.due.count(milestone) == 0) {
      fail("an extension is for \"" + printable_line(milestone) + "\", which has no due date");
    }
    const auto known = std::ranges::find_if(students_, [&](const Student& each) {
      return each.name == student || each.login == student || each.number == student;
    });
    if (strict_ && known == students_.end()) {
      fail("an extension is for \"" + printable_line(student) + "\", who is not in the class");
    }
    const std::string& name = known == students_.end() ? student : known->name;
    term.extensions[{name, milestone}] =
        within(term, time_of_text(json.at("due"), "due"), "extension of " + name);
  }

  const std::string& name_;
  const std::vector<Student>& students_;
  bool strict_;
};

bool can_count(const SubmissionRow& row) {
  return row.revoked.empty() && row.state != SubmissionState::kWaiting &&
         row.state != SubmissionState::kMachine;
}

/// The attempts of one student in one milestone.
void settle(std::vector<SettledAttempt*>& attempts, const Term& term, int& late_days_left) {
  SettledAttempt* last = nullptr;
  SettledAttempt* best = nullptr;
  for (SettledAttempt* attempt : attempts) {
    const SubmissionRow& row = attempt->row;
    const auto due = term.due.find(row.milestone);
    const auto extension = term.extensions.find({row.student, row.milestone});
    const auto received = time_of(row.received);
    if (received && due != term.due.end()) {
      const std::int64_t limit =
          extension == term.extensions.end() ? due->second : extension->second;
      attempt->late =
          static_cast<int>(std::max<std::int64_t>(0, *received - limit + kDay - 1) / kDay);
    }
    const bool closed = term.closes_after > 0 && attempt->late > term.closes_after;
    // Where nothing is earned no late day is used up.
    attempt->free = closed || row.earned <= 0.0 ? 0 : std::min(attempt->late, late_days_left);
    const double lost = term.penalty / 100.0 * (attempt->late - attempt->free);
    attempt->points = closed ? 0.0 : row.earned * std::max(0.0, 1.0 - lost);
    if (!can_count(row)) continue;
    // A submission that could not be read counts only if there is nothing else.
    const auto was_graded = [](const SettledAttempt& each) {
      return each.row.state == SubmissionState::kGraded ||
             each.row.state == SubmissionState::kChecked;
    };
    if (last == nullptr || was_graded(*attempt) || !was_graded(*last)) last = attempt;
    if (best == nullptr || attempt->points > best->points) best = attempt;
  }
  if (last == nullptr) return;
  last->last = true;
  best->best = true;
  SettledAttempt& chosen = term.best ? *best : *last;
  chosen.counts = true;
  late_days_left -= chosen.free;
}

}  // namespace

std::optional<std::int64_t> time_of(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d%n", &year, &month, &day, &hour, &minute,
                  &used) != 5) {
    return std::nullopt;
  }
  std::string rest = text.substr(static_cast<std::size_t>(used));
  if (std::sscanf(rest.c_str(), ":%2d%n", &second, &used) == 1) {
    rest = rest.substr(static_cast<std::size_t>(used));
  }
  int zone_hours = 0;
  int zone_minutes = 0;
  char sign = '+';
  used = 0;
  const bool has_zone =
      rest == "Z" ||
      (std::sscanf(rest.c_str(), "%c%2d:%2d%n", &sign, &zone_hours, &zone_minutes, &used) == 3 &&
       (sign == '+' || sign == '-') && static_cast<std::size_t>(used) == rest.size());
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  const auto below = [](int value, int limit) { return value >= 0 && value < limit; };
  if (!has_zone || !date.ok() || !below(hour, 24) || !below(minute, 60) || !below(second, 60) ||
      !below(zone_hours, 15) || !below(zone_minutes, 60)) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t zone = (zone_hours * 60 + zone_minutes) * 60 * (sign == '-' ? -1 : 1);
  return days * kDay + hour * 3600 + minute * 60 + second - zone;
}

std::string utc_text(std::int64_t time) {
  const std::chrono::sys_seconds seconds{std::chrono::seconds(time)};
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{seconds - day};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

Term parse_term(const std::string& text, const std::string& name,
                const std::vector<Student>& students, bool strict) {
  Term term;
  try {
    term = TermReader(name, students, strict).read(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw UsageError("The term file " + name + " cannot be read (" + printable_line(error.what()) +
                     "); docs/class.md shows one.");
  }
  return term;
}

Term term_in_force(const ClassDatabase& database) {
  const std::string text = database.term_text();
  // An extension may name a login: only the class knows whose it is. It may be for somebody who has
  // not handed in yet.
  return text.empty() ? Term{}
                      : parse_term(text, database.file().string(), database.students(), false);
}

std::vector<SettledAttempt> settled(const std::vector<SubmissionRow>& rows, const Term& term) {
  std::vector<SettledAttempt> all;
  for (const SubmissionRow& row : rows) all.push_back({.row = row});
  const auto due = [&](const std::string& milestone) {
    const auto found = term.due.find(milestone);
    return found == term.due.end() ? term.ends : found->second;
  };
  // By student, then in the order of the due dates.
  std::map<std::string,
           std::map<std::pair<std::int64_t, std::string>, std::vector<SettledAttempt*>>>
      students;
  for (SettledAttempt& each : all) {
    const std::string& milestone = each.row.milestone;
    students[each.row.student][{due(milestone), milestone}].push_back(&each);
  }
  for (auto& [student, milestones] : students) {
    int late_days_left = term.late_days;
    for (auto& [milestone, attempts] : milestones) settle(attempts, term, late_days_left);
  }
  return all;
}

std::vector<SubmissionRow> counting(const std::vector<SubmissionRow>& rows, const Term& term) {
  std::vector<SubmissionRow> result;
  for (SettledAttempt& each : settled(rows, term)) {
    if (!each.counts) continue;
    each.row.earned = each.points;
    result.push_back(std::move(each.row));
  }
  return result;
}

}  // namespace convlab::grader
