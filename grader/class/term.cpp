#include "grader/class/term.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "common/base/error.hpp"
#include "common/base/precision.hpp"
#include "common/base/printable.hpp"
#include "common/result/json_fields.hpp"
#include "common/result/result.hpp"
#include "grader/checks/rules.hpp"

namespace convlab::grader {

namespace {

constexpr std::int64_t kDay = 86'400;

/// Reads the fields of a term file, each once, and complains in terms of the file.
class TermReader {
 public:
  TermReader(const std::string& name, const std::vector<Student>& students, bool strict)
      : name_(name), students_(students), strict_(strict) {}

  Term read(const Json& json) {
    require_known(json, {"term", "begins", "ends", "late_days", "penalty_percent_per_day",
                         "closes_after_days", "counts", "attempts_per_hour", "rules", "precision",
                         "due", "extensions"});
    term_.name = get<std::string>(json, "term", "a text");
    term_.begins = time(json, "begins");
    term_.ends = time(json, "ends");
    term_.late_days = number(json, "late_days", 366);
    term_.penalty = number(json, "penalty_percent_per_day", 100);
    term_.closes_after = number(json, "closes_after_days", 366);
    term_.attempts_per_hour = number(json, "attempts_per_hour", 3600);
    term_.rules =
        judged_by(json, "rules", [](const std::string& text) { (void)parse_rules(text); });
    term_.precision = judged_by(json, "precision", parse_precision);
    if (term_.ends <= term_.begins) fail("\"ends\" must be after \"begins\"");
    const Json counts = json.value("counts", Json("last"));
    if (counts != "last" && counts != "best") fail("\"counts\" must be \"last\" or \"best\"");
    term_.best = counts == "best";
    const auto due = get<std::map<std::string, Json>>(json, "due", "times by milestone, { … }");
    for (const auto& [milestone, text] : due)
      term_.due[milestone] = within(json.at("due"), milestone);
    if (!json.contains("extensions")) return term_;
    for (const Json& each : get<std::vector<Json>>(json, "extensions", "a list, [ … ]")) {
      add_extension(each);
    }
    return term_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError("The term file " + name_ + ": " + printable_line(what) + ".");
  }

  void require_known(const Json& json, const std::set<std::string>& known) const {
    if (!json.is_object()) fail("fields with names are missing, as docs/class.md shows them");
    for (const auto& [key, value] : json.items()) {
      if (!known.contains(key)) fail("nothing is called \"" + key + "\"");
    }
  }

  /// @param what  it must be
  template <class Value>
  [[nodiscard]] Value get(const Json& json, const std::string& field,
                          const std::string& what) const {
    if (!json.contains(field)) fail("\"" + field + "\" is missing");
    try {
      return json.at(field).get<Value>();
    } catch (const nlohmann::json::exception&) {
      fail("\"" + field + "\" must be " + what);
    }
  }

  // As the option of `grader check` has it.
  template <class Parse>
  [[nodiscard]] std::string judged_by(const Json& json, const std::string& field,
                                      Parse parse) const {
    if (!json.contains(field)) return "";
    auto text = get<std::string>(json, field, "a text");
    try {
      parse(text);
    } catch (const UsageError& unknown) {
      fail("\"" + field + "\": " + unknown.what());
    }
    return text;
  }

  [[nodiscard]] std::int64_t time(const Json& json, const std::string& field) const {
    const std::string what = "a time with its zone, like \"2027-02-01T23:59-06:00\"";
    const auto text = get<std::string>(json, field, what);
    const auto time = time_of(text);
    if (!time) fail("\"" + text + "\" of \"" + field + "\" is no time; write " + what);
    return *time;
  }

  [[nodiscard]] std::int64_t within(const Json& json, const std::string& field) const {
    const std::int64_t time_read = time(json, field);
    if (time_read >= term_.begins && time_read <= term_.ends) return time_read;
    fail("\"" + field + "\", " + utc_text(time_read) + ", lies outside the term " + term_.name +
         ", " + utc_text(term_.begins) + " to " + utc_text(term_.ends));
  }

  [[nodiscard]] int number(const Json& json, const char* field, int most) const {
    if (!json.contains(field)) return 0;
    const std::string what = "a whole number from 0 to " + std::to_string(most);
    const auto value = get<double>(json, field, what);
    if (value >= 0 && value <= most && value == std::floor(value)) return static_cast<int>(value);
    fail("\"" + std::string(field) + "\" must be " + what);
  }

  void add_extension(const Json& json) {
    require_known(json, {"student", "milestone", "due", "reason"});
    const auto student = get<std::string>(json, "student", "a text");
    const auto milestone = get<std::string>(json, "milestone", "a text");
    if (!term_.due.contains(milestone)) {
      fail("an extension is for \"" + milestone + "\", which has no due date");
    }
    const auto known = std::ranges::find_if(students_, [&](const Student& each) {
      return each.name == student || each.login == student || each.number == student;
    });
    if (strict_ && !students_.empty() && known == students_.end()) {
      fail("an extension is for \"" + student + "\", who is not in the class");
    }
    const std::string& name = known == students_.end() ? student : known->name;
    const std::int64_t due = within(json, "due");
    if (strict_ && due < term_.due[milestone]) {
      fail("the extension of " + name + " ends before " + milestone + " is due");
    }
    if (!term_.extensions.emplace(std::pair(name, milestone), due).second && strict_) {
      fail("there are two extensions of " + name + " for " + milestone);
    }
  }

  const std::string& name_;
  const std::vector<Student>& students_;
  bool strict_;
  Term term_{};
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
    attempt->closed = term.closes_after > 0 && attempt->late > term.closes_after;
    // Where nothing is earned no late day is used up.
    attempt->free =
        attempt->closed || row.earned <= 0.0 ? 0 : std::min(attempt->late, late_days_left);
    const double lost = term.penalty / 100.0 * (attempt->late - attempt->free);
    attempt->points = attempt->closed ? 0.0 : row.earned * std::max(0.0, 1.0 - lost);
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
  for (const char* form : {"%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M%z"}) {
    std::tm read{};
    const char* end = ::strptime(text.c_str(), form, &read);
    if (end == nullptr || *end != '\0') continue;
    std::tm whole = read;
    const std::int64_t time = ::timegm(&whole);
    // There is no 31st of June; timegm would make it the 1st of July.
    if (whole.tm_mday != read.tm_mday || whole.tm_sec != read.tm_sec) return std::nullopt;
    return time - read.tm_gmtoff;
  }
  return std::nullopt;
}

Term parse_term(const std::string& text, const std::string& name,
                const std::vector<Student>& students, bool strict) {
  Term term;
  try {
    term = TermReader(name, students, strict).read(parse_json(text));
  } catch (const nlohmann::json::exception& error) {
    const std::string why = printable_line(error.what());  // behind the library's own number
    throw UsageError("The term file " + name + " cannot be read (" +
                     why.substr(std::min(why.find(']') + 2, why.size())) +
                     "); docs/class.md shows one.");
  }
  return term;
}

Term term_in_force(const ClassDatabase& database) {
  const auto texts = database.texts("SELECT json FROM term");
  // An extension may name a login: only the class knows whose it is. It may be for somebody who has
  // not handed in yet.
  return texts.empty() ? Term{}
                       : parse_term(texts[0], database.file().string(), database.students(), false);
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
