#include "grader/class/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "common/result/result.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/edition.hpp"
#include "grader/course/course.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// Marks this program's files: "CLAB".
constexpr std::int64_t kApplication = 0x434c4142;

// The versions of schema.sql, the first one first.
std::vector<std::string> migrations() {
  const std::string text = read_text(course_folder() / "grader" / "class" / "schema.sql");
  const std::string mark = "\n-- version ";
  std::vector<std::string> all;
  for (auto at = text.find(mark); at != std::string::npos;) {
    const auto end = text.find(mark, at + 1);
    all.push_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

constexpr auto kSubmissionFields = [](SubmissionRow& r) {
  return std::tie(r.id, r.student, r.alias, r.milestone, r.attempt, r.place, r.received, r.state,
                  r.sentence, r.finding, r.passed, r.earned, r.counted, r.total, r.seconds, r.rules,
                  r.revoked);
};

// The precision class in which an item's stage was measured.
std::string precision_of(const CheckResult& check, const ScoreItem& item) {
  for (const RunResult& run : check.result.runs) {
    if (run.stage.id == item.stage && run.batch == item.batch)
      return to_string(run.stage.precision);
  }
  return {};
}

// The points that a submission can earn, even if nothing of it runs.
double total_of(const std::string& milestone) {
  static std::map<std::string, double> known;
  const auto [total, is_new] = known.try_emplace(milestone, 0.0);
  if (!is_new) return total->second;
  if (const auto named = find_task(milestone)) return total->second = named->task.points;
  for (const CourseMilestone& each : milestones()) {
    if (each.id != milestone || !fs::exists(each.folder / "scores.json")) continue;
    const ScoreRules rules = load_score_rules(each.folder);
    Score score{.items = {}, .choice = rules.choice};
    for (const ScoreRule& rule : rules.items) {
      score.items.push_back({.stage = rule.stage, .points = rule.points});
    }
    total->second = score.total();
  }
  return total->second;
}

[[noreturn]] void fail_without(const fs::path& file) {
  throw UsageError("There is no database " + file.string() +
                   "; grade first: build/bin/grader class grade DIR");
}

Descriptor lock_beside(const fs::path& file) {
  Descriptor lock = locked(file.string() + ".lock", false);
  if (lock.is_open()) return lock;
  throw EnvironmentError("Another grader is grading into " + file.string() +
                         "; wait for it, or name another --database.");
}

}  // namespace

const char* to_string(SubmissionState state) {
  return enum_name(state, {"waiting", "checked", "graded", "refused", "stopped", "machine"});
}

void ClassDatabase::fail(const SQLite::Exception& error) const {
  const std::string name = "The database " + file_.string();
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw EnvironmentError(name +
                             " is damaged, or is no database: move it away and grade again (the "
                             "submissions are still where they were), or restore a copy of it.");
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw EnvironmentError(name + " cannot be written (" + error.getErrorStr() +
                             "): free some space, then run this again; what was graded is kept.");
    default:
      throw EnvironmentError(name + " answers: " + error.what() + ".");
  }
}

Table ClassDatabase::table(const std::string& view, const std::string& milestone) const {
  return told([&] {
    SQLite::Statement rows(*connection_, "SELECT * FROM " + view + " WHERE ?1 IN ('', milestone)");
    rows.bind(1, milestone);
    Table table;
    for (int i = 0; i < rows.getColumnCount(); ++i) {
      table.heading.emplace_back(rows.getColumnName(i));
    }
    while (rows.executeStep()) {
      std::vector<std::string>& row = table.rows.emplace_back();
      for (int i = 0; i < rows.getColumnCount(); ++i) {
        const SQLite::Column column = rows.getColumn(i);
        row.push_back(column.isFloat() ? three_digits(column.getDouble()) : column.getString());
      }
    }
    return table;
  });
}

ClassDatabase::ClassDatabase(const fs::path& file, Access access) : file_(file) {
  if (access != Access::kGrade && !fs::exists(file)) fail_without(file);
  if (access != Access::kRead) {
    std::error_code exists;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), exists);
    lock_ = lock_beside(file);
  }
  told([&] {
    constexpr int kPatienceMs = 10'000;
    const int create = access == Access::kGrade ? SQLite::OPEN_CREATE : 0;
    connection_ = std::make_unique<SQLite::Database>(
        file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX | create, kPatienceMs);
    // A list of everything reads most pages more than once.
    connection_->exec("PRAGMA cache_size = -65536");
    migrate(access);
    connection_->exec("PRAGMA foreign_keys = ON");  // not before: migrations replace tables
  });
}

void ClassDatabase::migrate(Access access) {
  const std::int64_t tables = run("SELECT count(*) FROM sqlite_master");
  const std::int64_t application = run("PRAGMA application_id");
  // A grader is making it at this moment: two that make it would stop each other.
  if (tables == 0 && access == Access::kRead) fail_without(file());
  if (tables > 0 && application != kApplication) {
    throw EnvironmentError("The file " + file().string() +
                           " is a database of another program; name another --database.");
  }
  const std::int64_t version = run("PRAGMA user_version");
  const std::vector<std::string> all = migrations();
  const auto newest = static_cast<std::int64_t>(all.size());
  if (version > newest) {
    throw EnvironmentError("The database " + file().string() +
                           " was written by a newer grader (version " + std::to_string(version) +
                           ", this one knows " + std::to_string(newest) +
                           "); use that grader, or another --database.");
  }
  if (version == newest && access == Access::kRead) return;
  if (access == Access::kRead) lock_ = lock_beside(file());
  // A reader sees the last complete state while a writer goes on.
  connection_->exec("PRAGMA journal_mode = WAL");
  if (version == newest) return;
  transaction([&] {
    for (auto i = static_cast<std::size_t>(version); i < all.size(); ++i) {
      connection_->exec(all[i]);
    }
    connection_->exec("PRAGMA application_id = " + std::to_string(kApplication));
    connection_->exec("PRAGMA user_version = " + std::to_string(newest));
  });
}

// Random, not computed from the name: nobody can find a name by trying.
std::string ClassDatabase::new_alias() {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  static std::random_device random;  // making one takes longer than all that it draws
  while (true) {
    std::string alias = "S-";
    for (int i = 0; i < 4; ++i) alias += kLetters[random() % kLetters.size()];
    if (run("SELECT count(*) FROM student WHERE alias = ?", alias) == 0) return alias;
  }
}

std::int64_t ClassDatabase::add_students(const std::vector<Student>& students) {
  std::int64_t id = 0;
  transaction([&] {
    for (const Student& student : students) {
      id =
          run("INSERT INTO student (name, alias, number, login, email, section, canvas) "
              "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
              "number = coalesce(nullif(excluded.number, ''), number), "
              "login = coalesce(nullif(excluded.login, ''), login), "
              "email = coalesce(nullif(excluded.email, ''), email), "
              "section = coalesce(nullif(excluded.section, ''), section), "
              "canvas = coalesce(nullif(excluded.canvas, ''), canvas) RETURNING id",
              student.name, new_alias(), student.number, student.login, student.email,
              student.section, student.canvas);
    }
  });
  return id;
}

std::int64_t ClassDatabase::add_submission(std::int64_t student, const std::string& milestone,
                                           const std::string& digest,
                                           const FoundSubmission& found) {
  const std::string place = printable_line(found.place.string());
  // It could be read this time: nothing is left of a machine that was at fault before.
  run("DELETE FROM submission WHERE student = ? AND place = ? AND digest <> ? AND state = "
      "'machine' "
      "AND digest LIKE 'unread %' AND id NOT IN (SELECT submission FROM earlier UNION "
      "SELECT submission FROM revocation)",
      student, place, digest);
  // Known is what this place held before; in a new place, such as a second download, what was
  // handed in at that time, or with nothing else between. Another time alone is no attempt.
  const std::int64_t known =
      run("WITH mine AS (SELECT * FROM submission WHERE student = ?1 AND milestone = ?2), "
          "here AS (SELECT * FROM mine WHERE place = ?4 ORDER BY id DESC LIMIT 1) "
          "SELECT id FROM here WHERE digest = ?3 UNION ALL SELECT id FROM mine WHERE digest = ?3 "
          "AND NOT EXISTS (SELECT 1 FROM here) AND (received = ?5 OR id IN ("
          "(SELECT id FROM mine WHERE received <= ?5 ORDER BY received DESC, id DESC LIMIT 1), "
          "(SELECT id FROM mine WHERE received > ?5 ORDER BY received, id LIMIT 1))) LIMIT 1",
          student, milestone, digest, place, found.received);
  if (known > 0) return known;
  return run(
      "INSERT INTO submission (student, milestone, digest, place, received, counted, total) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) RETURNING id",
      student, milestone, digest, place, found.received, total_of(milestone));
}

void ClassDatabase::set_outcome(std::int64_t submission, const Outcome& outcome,
                                const std::string& rules) {
  const CheckResult* check = outcome.check ? &*outcome.check : nullptr;
  const Score* score = check != nullptr && check->score ? &*check->score : nullptr;
  const std::optional<Points> points = check != nullptr ? check->points() : std::nullopt;
  const bool found = check != nullptr && !check->findings.empty();
  const bool passed = check != nullptr && check->result.verdict == Verdict::kPassed;
  const double total =
      total_of(texts("SELECT milestone FROM submission WHERE id = ?", submission).at(0));
  transaction([&] {
    run("UPDATE submission SET state = ?, sentence = ?, finding = ?, passed = ?, earned = ?, "
        "counted = ?, total = ?, seconds = seconds + ?, rules = ? WHERE id = ?",
        to_string(outcome.state), outcome.sentence, found ? check->findings.front().id : "", passed,
        points ? points->earned : 0.0, points ? points->counted : total,
        points ? points->total : total, outcome.seconds, rules, submission);
    if (check != nullptr) {
      const std::string text = to_json(*check);
      const auto packed = gzip({text.begin(), text.end()});
      run("INSERT INTO result VALUES (?, CAST(? AS BLOB))", submission,
          std::string(packed.begin(), packed.end()));
    }
    if (score == nullptr) return;
    for (const ScoreItem& item : score->items) {
      if (!item.speed) continue;
      const double yours = sum_of_medians(item.speed->yours_ms);
      const double reference = sum_of_medians(item.speed->reference_ms);
      // SQLite would keep NULL in place of NaN, the least of all times; who has none has no rank.
      if (!std::isfinite(yours + reference + item.speed->speed)) continue;
      run("INSERT OR REPLACE INTO speed VALUES (?, ?, ?, ?, ?, ?, ?, ?)", submission, item.stage,
          item.batch, yours, reference, item.speed->bound_ms.value_or(0.0), item.speed->speed,
          precision_of(*check, item));
    }
  });
}

std::optional<SubmissionRow> ClassDatabase::submission(std::int64_t id) const {
  const auto found =
      rows<SubmissionRow>("SELECT * FROM attempts WHERE id = ?", kSubmissionFields, id);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<SubmissionRow> ClassDatabase::submissions(const std::string& student,
                                                      const std::string& milestone) const {
  return rows<SubmissionRow>(
      "SELECT * FROM attempts WHERE ?1 IN ('', milestone) AND (?2 = '' OR name = ?2 COLLATE "
      "NOCASE OR ?2 IN (alias, login, number)) ORDER BY milestone, name, received, id",
      kSubmissionFields, milestone, student);
}

std::vector<Student> ClassDatabase::students() const {
  return rows<Student>(
      "SELECT name, number, login, email, section, canvas FROM student ORDER BY name",
      [](Student& r) { return std::tie(r.name, r.number, r.login, r.email, r.section, r.canvas); });
}

std::optional<CheckResult> ClassDatabase::result(std::int64_t submission) const {
  const auto packed = texts("SELECT json FROM result WHERE submission = ?", submission);
  if (packed.empty()) return std::nullopt;
  constexpr std::size_t kLargest = std::size_t{256} << 20;
  const std::string name = "the result of submission " + std::to_string(submission);
  const auto bytes = gunzip({packed[0].begin(), packed[0].end()}, kLargest, name);
  return parse_check_result({bytes.begin(), bytes.end()}, name);
}

namespace {

// @param place  "conv_forward.cu:41", or all of "conv_forward.cu"
bool has_place(const Finding& finding, const std::string& place) {
  const auto is_meant = [&](const std::string& file, std::size_t line) {
    return place == file || place == file + ":" + std::to_string(line);
  };
  return std::ranges::any_of(finding.seen.places(),
                             [&](const Seen::Place& each) {
                               return is_meant(each.file, static_cast<std::size_t>(each.line));
                             }) ||
         std::ranges::any_of(finding.mends, [&](const Mend& mend) {
           return std::ranges::any_of(mend.lines,
                                      [&](std::size_t line) { return is_meant(mend.file, line); });
         });
}

}  // namespace

std::vector<Comment> ClassDatabase::comments(const SubmissionRow& row) const {
  auto own = rows<Comment>(
      "SELECT id, finding, place, text, for_staff FROM comment "
      "WHERE submission = ?1 OR (finding <> '' AND milestone = ?2) ORDER BY id",
      [](Comment& r) { return std::tie(r.id, r.finding, r.place, r.text, r.for_staff); }, row.id,
      row.milestone);
  if (own.empty()) return own;
  const std::optional<CheckResult> check = result(row.id);
  std::erase_if(own, [&](const Comment& each) {
    if (each.finding.empty()) return false;
    return !check || std::ranges::none_of(check->findings, [&](const Finding& found) {
      return found.id == each.finding && (each.place.empty() || has_place(found, each.place));
    });
  });
  return own;
}

namespace {

// Who notes more has written the notes with a program. The first hints and the last checks count.
constexpr std::size_t kMostHints = 200;
constexpr std::size_t kMostChecks = 2000;
constexpr std::size_t kMostPredictions = 100;

/// A check of a student's history.
struct NotedCheck {
  std::string created{};
  std::set<std::string> stages{};
  std::set<std::pair<std::string, std::string>> findings{};  ///< id and stage
};

// Notes are a student's to change: what does not read as it should is left out.
std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0.0;
}

const Json& list_at(const Json& json, const char* key) {
  static const Json none = Json::array();
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_structured() ? *found : none;
}

std::vector<NotedCheck> checks_of(const std::string& history) {
  std::vector<std::string> lines = lines_of(history);
  if (lines.size() > kMostChecks) lines.erase(lines.begin(), lines.end() - kMostChecks);
  std::vector<NotedCheck> checks;
  for (const std::string& line : lines) {
    const Json json = parse_json_or_null(line);
    if (!json.is_object()) continue;
    NotedCheck& check = checks.emplace_back(NotedCheck{.created = text_at(json, "created")});
    for (const Json& stage : list_at(json, "stages")) {
      if (stage.is_string()) check.stages.insert(stage.get<std::string>());
    }
    for (const Json& finding : list_at(json, "findings")) {
      if (finding.is_object())
        check.findings.emplace(text_at(finding, "id"), text_at(finding, "stage"));
    }
  }
  return checks;
}

// 1 if the first check that looked at the hint's stage no longer found what it was about; -1 if
// none did.
int helped(const Json& hint, const std::vector<NotedCheck>& checks) {
  const std::string finding = text_at(hint, "finding");
  const std::string stage = text_at(hint, "stage");
  const std::string shown = text_at(hint, "shown");
  if (finding.empty()) return -1;
  for (const NotedCheck& check : checks) {
    if (check.created <= shown || (!stage.empty() && !check.stages.contains(stage))) continue;
    return std::ranges::any_of(check.findings,
                               [&](const auto& found) {
                                 return found.first == finding &&
                                        (stage.empty() || found.second == stage);
                               })
               ? 0
               : 1;
  }
  return -1;
}

bool is_name(const std::string& text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '-';
  });
}

}  // namespace

void ClassDatabase::keep_notes(std::int64_t student, const std::string& milestone,
                               const std::string& notebook, const std::string& history) {
  const Json notes = parse_json_or_null(notebook);
  const std::vector<NotedCheck> checks = checks_of(history);
  std::size_t hints = 0;
  for (const Json& hint : list_at(notes, "hints")) {
    if (!hint.is_object() || ++hints > kMostHints) continue;
    const std::string list = text_at(hint, "list");
    const std::string finding = text_at(hint, "finding");
    const double number = number_at(hint, "number");
    constexpr std::size_t kLongest = 159;
    if (list.empty() || !is_name(list + finding, kLongest) || !(number >= 1 && number < 1000))
      continue;
    // Archives come in any order: one that was packed before the next check knows less.
    run("INSERT INTO hint VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "helped = max(helped, excluded.helped)",
        student, milestone, list, static_cast<std::int64_t>(number), finding, helped(hint, checks));
  }
  const Json& explained = list_at(notes, "explained");
  std::size_t predictions = 0;
  for (const auto& [stage, made] : list_at(notes, "predictions").items()) {
    constexpr std::size_t kLongest = 40;
    static const std::set<std::string> limiters = {"memory", "shared-memory", "arithmetic",
                                                   "latency", "launches"};
    if (!made.is_object() || !is_name(stage, kLongest) || ++predictions > kMostPredictions)
      continue;
    const std::string limiter = text_at(made, "limiter");
    const double loads = number_at(made, "loads");
    const double inputs = number_at(made, "inputs");
    const double op_ms = number_at(made, "op_ms");
    constexpr double kMost = 1e12;
    if (!limiters.contains(limiter) ||
        !(std::abs(loads) + std::abs(inputs) + std::abs(op_ms) < kMost))
      continue;
    const Json& counted = list_at(explained, stage.c_str());
    run("INSERT INTO prediction VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "counted_loads = max(counted_loads, excluded.counted_loads), "
        "counted_inputs = max(counted_inputs, excluded.counted_inputs)",
        student, milestone, stage, limiter, loads, inputs, op_ms, number_at(counted, "loads"),
        number_at(counted, "inputs"));
  }
}

}  // namespace convlab::grader
