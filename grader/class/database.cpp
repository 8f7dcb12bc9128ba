#include "grader/class/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "common/result/json_fields.hpp"
#include "common/result/result.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/course/course.hpp"

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

constexpr const char* kSubmissionColumns =
    "SELECT s.id, t.name, t.alias, s.milestone, row_number() OVER (PARTITION BY s.milestone, "
    "t.name "
    "ORDER BY s.received, s.id), "
    "s.place, s.received, s.state, s.sentence, s.finding, s.passed, s.earned, s.counted, s.total, "
    "s.seconds, s.rules, (SELECT reason FROM revocation r WHERE r.submission = s.id AND "
    "r.restored = '') FROM submission s JOIN student t ON t.id = s.student ";
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

[[noreturn]] void fail_without(const fs::path& file) {
  throw UsageError("There is no database " + file.string() +
                   "; grade first: build/bin/grader class grade DIR");
}

Descriptor lock_beside(const fs::path& file) {
  const std::string name = file.string() + ".lock";
  Descriptor lock(::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (!lock.is_open()) {
    throw EnvironmentError("Cannot write " + name + ": " + std::strerror(errno) +
                           "; name another --database, or change the folder's permissions.");
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    throw EnvironmentError("Another grader is grading into " + file.string() +
                           "; wait for it, or name another --database.");
  }
  return lock;
}

// Makes the folder of a database that may be missing.
Descriptor lock_for(const fs::path& file, ClassDatabase::Access access) {
  using enum ClassDatabase::Access;
  if (access != kGrade && !fs::exists(file)) fail_without(file);
  if (access == kRead) return {};
  std::error_code exists;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), exists);
  return lock_beside(file);
}

// A finding, a milestone, a stage of a milestone.
bool is_name(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '/';
         });
}

}  // namespace

const char* to_string(SubmissionState state) {
  return enum_name(state, {"waiting", "checked", "graded", "refused", "stopped", "machine"});
}

SqliteFile::SqliteFile(const std::filesystem::path& file, bool create) try
    : file_(file),
      connection_(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX |
                                     (create ? SQLite::OPEN_CREATE : 0)) {
  constexpr int kPatienceMs = 10'000;
  connection_.setBusyTimeout(kPatienceMs);
  // A list of everything reads most pages more than once.
  connection_.exec("PRAGMA cache_size = -65536");
} catch (const SQLite::Exception& error) {
  fail(file, error);
}

void SqliteFile::run_all(const std::string& sql) const {
  told([&] { connection_.exec(sql); });
}

void SqliteFile::fail(const std::filesystem::path& file, const SQLite::Exception& error) {
  const std::string name = "The database " + file.string();
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

Table SqliteFile::table(const std::string& sql, const std::string& value) const {
  Table table;
  told([&] {
    SQLite::Statement statement(connection_, sql);
    statement.bind(1, value);
    for (int i = 0; i < statement.getColumnCount(); ++i) {
      table.heading.emplace_back(statement.getColumnName(i));
    }
    while (statement.executeStep()) {
      std::vector<std::string>& row = table.rows.emplace_back();
      for (int i = 0; i < statement.getColumnCount(); ++i) {
        const SQLite::Column column = statement.getColumn(i);
        row.push_back(column.isFloat() ? three_digits(column.getDouble()) : column.getString());
      }
    }
  });
  return table;
}

ClassDatabase::ClassDatabase(const fs::path& file, Access access)
    : lock_(lock_for(file, access)), sqlite_(file, access == Access::kGrade) {
  migrate(access);
  sqlite_.run_all("PRAGMA foreign_keys = ON");  // not before: migrations replace tables
}

void ClassDatabase::migrate(Access access) {
  const std::int64_t tables = sqlite_.run("SELECT count(*) FROM sqlite_master");
  const std::int64_t application = sqlite_.run("PRAGMA application_id");
  // A grader is making it at this moment: two that make it would stop each other.
  if (tables == 0 && access == Access::kRead) fail_without(file());
  if (tables > 0 && application != kApplication) {
    throw EnvironmentError("The file " + file().string() +
                           " is a database of another program; name another --database.");
  }
  const std::int64_t version = sqlite_.run("PRAGMA user_version");
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
  sqlite_.run_all("PRAGMA journal_mode = WAL");
  if (version == newest) return;
  sqlite_.transaction([&] {
    for (auto i = static_cast<std::size_t>(version); i < all.size(); ++i) {
      sqlite_.run_all(all[i]);
    }
    sqlite_.run_all("PRAGMA application_id = " + std::to_string(kApplication));
    sqlite_.run_all("PRAGMA user_version = " + std::to_string(newest));
  });
}

// Random, not computed from the name: nobody can find a name by trying.
std::string ClassDatabase::new_alias() {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  static std::random_device random;  // making one takes longer than all that it draws
  while (true) {
    std::string alias = "S-";
    for (int i = 0; i < 4; ++i) alias += kLetters[random() % kLetters.size()];
    if (sqlite_.run("SELECT count(*) FROM student WHERE alias = ?", alias) == 0) return alias;
  }
}

std::int64_t ClassDatabase::add_students(const std::vector<Student>& students) {
  std::int64_t id = 0;
  sqlite_.transaction([&] {
    for (const Student& student : students) {
      id = sqlite_.run(
          "INSERT INTO student (name, alias, number, login, email, section, canvas) "
          "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
          "number = coalesce(nullif(excluded.number, ''), number), "
          "login = coalesce(nullif(excluded.login, ''), login), "
          "email = coalesce(nullif(excluded.email, ''), email), "
          "section = coalesce(nullif(excluded.section, ''), section), "
          "canvas = coalesce(nullif(excluded.canvas, ''), canvas) RETURNING id",
          student.name, new_alias(), student.number, student.login, student.email, student.section,
          student.canvas);
    }
  });
  return id;
}

std::int64_t ClassDatabase::add_submission(std::int64_t student, const std::string& milestone,
                                           const std::string& digest,
                                           const FoundSubmission& found) {
  const std::string place = printable_line(found.place.string());
  // It could be read this time: nothing is left of a machine that was at fault before.
  sqlite_.run(
      "DELETE FROM submission WHERE student = ? AND place = ? AND digest <> ? AND state = "
      "'machine' "
      "AND digest LIKE 'unread %' AND id NOT IN (SELECT submission FROM earlier UNION "
      "SELECT submission FROM revocation)",
      student, place, digest);
  // Known is what this place held before; in a new place, such as a second download, what was
  // handed in at that time, or with nothing else between. Another time alone is no attempt.
  const std::int64_t known = sqlite_.run(
      "WITH mine AS (SELECT * FROM submission WHERE student = ?1 AND milestone = ?2), "
      "here AS (SELECT * FROM mine WHERE place = ?4 ORDER BY id DESC LIMIT 1) "
      "SELECT id FROM here WHERE digest = ?3 UNION ALL SELECT id FROM mine WHERE digest = ?3 "
      "AND NOT EXISTS (SELECT 1 FROM here) AND (received = ?5 OR id IN ("
      "(SELECT id FROM mine WHERE received <= ?5 ORDER BY received DESC, id DESC LIMIT 1), "
      "(SELECT id FROM mine WHERE received > ?5 ORDER BY received, id LIMIT 1))) LIMIT 1",
      student, milestone, digest, place, found.received);
  if (known > 0) return known;
  return sqlite_.run(
      "INSERT INTO submission (student, milestone, digest, place, received) "
      "VALUES (?, ?, ?, ?, ?) RETURNING id",
      student, milestone, digest, place, found.received);
}

void ClassDatabase::set_outcome(std::int64_t submission, const Outcome& outcome, double total,
                                const std::string& rules) {
  const CheckResult* check = outcome.check ? &*outcome.check : nullptr;
  const Score* score = check != nullptr && check->score ? &*check->score : nullptr;
  const bool found = check != nullptr && !check->findings.empty();
  const bool passed = check != nullptr && check->result.verdict == Verdict::kPassed;
  sqlite_.transaction([&] {
    sqlite_.run(
        "INSERT INTO earlier (submission, replaced, rules, state, sentence, finding, "
        "passed, earned, counted, total, json) SELECT id, ?, rules, state, sentence, finding, "
        "passed, earned, counted, total, (SELECT json FROM result WHERE submission = id) "
        "FROM submission WHERE id = ? AND state IN ('graded', 'refused', 'stopped')",
        utc_now(), submission);
    sqlite_.run(
        "UPDATE submission SET state = ?, sentence = ?, finding = ?, passed = ?, earned = ?, "
        "counted = ?, total = ?, seconds = seconds + ?, rules = ? WHERE id = ?",
        to_string(outcome.state), outcome.sentence, found ? check->findings.front().id : "", passed,
        score == nullptr ? 0.0 : score->earned(), score == nullptr ? total : score->counted(),
        score == nullptr ? total : score->total(), outcome.seconds, rules, submission);
    // What an outcome does not have must not stay from the one that it replaces.
    sqlite_.run("DELETE FROM result WHERE submission = ?", submission);
    sqlite_.run("DELETE FROM speed WHERE submission = ?", submission);
    if (check != nullptr) {
      const std::string text = to_json(*check);
      const auto packed = gzip({text.begin(), text.end()});
      sqlite_.run("INSERT INTO result VALUES (?, CAST(? AS BLOB))", submission,
                  std::string(packed.begin(), packed.end()));
    }
    if (score == nullptr) return;
    for (const ScoreItem& item : score->items) {
      if (!item.speed) continue;
      sqlite_.run("INSERT OR REPLACE INTO speed VALUES (?, ?, ?, ?, ?, ?, ?, ?)", submission,
                  item.stage, item.batch, sum_of_medians(item.speed->yours_ms),
                  sum_of_medians(item.speed->reference_ms), item.speed->bound_ms.value_or(0.0),
                  item.speed->speed, precision_of(*check, item));
    }
  });
}

std::optional<SubmissionRow> ClassDatabase::submission(std::int64_t id) const {
  const auto rows = sqlite_.rows<SubmissionRow>(std::string(kSubmissionColumns) + "WHERE s.id = ?",
                                                kSubmissionFields, id);
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

std::vector<SubmissionRow> ClassDatabase::submissions(const std::string& student,
                                                      const std::string& milestone) const {
  return sqlite_.rows<SubmissionRow>(
      std::string(kSubmissionColumns) +
          "WHERE ?1 IN ('', s.milestone) AND (?2 = '' OR t.name = ?2 COLLATE NOCASE"
          " OR t.alias = ?2 OR t.login = ?2 OR t.number = ?2) "
          "ORDER BY s.milestone, t.name, s.received, s.id",
      kSubmissionFields, milestone, student);
}

std::vector<Student> ClassDatabase::students() const {
  return sqlite_.rows<Student>(
      "SELECT name, number, login, email, section, canvas FROM student ORDER BY name",
      [](Student& r) { return std::tie(r.name, r.number, r.login, r.email, r.section, r.canvas); });
}

std::optional<CheckResult> ClassDatabase::result(std::int64_t submission) const {
  const auto packed = sqlite_.rows<std::string>(
      "SELECT json FROM result WHERE submission = ?",
      [](std::string& bytes) { return std::tie(bytes); }, submission);
  if (packed.empty()) return std::nullopt;
  constexpr std::size_t kLargest = std::size_t{256} << 20;
  const std::string name = "the result of submission " + std::to_string(submission);
  const auto bytes = gunzip({packed[0].begin(), packed[0].end()}, kLargest, name);
  return parse_check_result({bytes.begin(), bytes.end()}, name);
}

std::vector<std::string> ClassDatabase::history(std::int64_t submission) const {
  return sqlite_.rows<std::string>(
      "SELECT words FROM history WHERE submission = ? ORDER BY time",
      [](std::string& words) { return std::tie(words); }, submission);
}

void ClassDatabase::set_sentence(std::int64_t submission, const std::string& sentence) {
  sqlite_.run("UPDATE submission SET sentence = ? WHERE id = ?", sentence, submission);
}

int ClassDatabase::attempts_in_hour_before(std::int64_t submission) const {
  return static_cast<int>(sqlite_.run(
      "SELECT count(*) FROM submission s JOIN submission e ON e.student = s.student AND "
      "e.milestone = s.milestone WHERE s.id = ? AND (e.received, e.id) < (s.received, s.id) AND "
      "e.received > strftime('%Y-%m-%dT%H:%M:%SZ', s.received, '-1 hour')",
      submission));
}

std::string ClassDatabase::term_text() const {
  const auto texts = sqlite_.rows<std::string>("SELECT json FROM term",
                                               [](std::string& text) { return std::tie(text); });
  return texts.empty() ? "" : texts.front();
}

void ClassDatabase::set_term_text(const std::string& text) {
  sqlite_.run("INSERT OR REPLACE INTO term VALUES (1, ?)", text);
}

void ClassDatabase::revoke(std::int64_t submission, const std::string& reason,
                           const std::string& evidence) {
  sqlite_.run("INSERT INTO revocation (submission, reason, evidence, revoked) VALUES (?, ?, ?, ?)",
              submission, reason, evidence, utc_now());
}

bool ClassDatabase::restore(std::int64_t submission) {
  return sqlite_.run(
             "UPDATE revocation SET restored = ? WHERE submission = ? AND restored = '' RETURNING "
             "1",
             utc_now(), submission) > 0;
}

void ClassDatabase::add_comment(const Comment& comment) {
  sqlite_.run(
      "INSERT INTO comment (milestone, finding, place, submission, text, for_staff, written) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      comment.milestone, comment.finding, comment.place, comment.submission, comment.text,
      comment.for_staff, utc_now());
}

bool ClassDatabase::remove_comment(std::int64_t id) {
  return sqlite_.run("DELETE FROM comment WHERE id = ? RETURNING 1", id) > 0;
}

std::vector<Comment> ClassDatabase::comments(const SubmissionRow& row) const {
  auto own = sqlite_.rows<Comment>(
      "SELECT id, milestone, finding, place, submission, text, for_staff "
      "FROM comment WHERE submission = ?1 OR (finding <> '' AND milestone = ?2) ORDER BY id",
      [](Comment& r) {
        return std::tie(r.id, r.milestone, r.finding, r.place, r.submission, r.text, r.for_staff);
      },
      row.id, row.milestone);
  if (own.empty()) return own;
  const std::optional<CheckResult> check = result(row.id);
  std::erase_if(own, [&](const Comment& each) {
    if (each.finding.empty()) return false;
    return !check || std::ranges::none_of(check->findings, [&](const Finding& found) {
      // Line 4 is not line 41.
      return found.id == each.finding &&
             (each.place.empty() || find_word(found.seen, each.place) != std::string::npos);
    });
  });
  return own;
}

void ClassDatabase::keep_notes(std::int64_t student, const std::string& milestone,
                               const StudentNotes& notes) {
  const Notebook& notebook = notes.notebook;
  if (notebook.hints.empty() && notebook.predictions.empty()) return;
  sqlite_.transaction([&] {
    // Archives come in any order: one that was packed before the next check does not know yet
    // whether a hint helped.
    for (const ShownHint& hint : notebook.hints) {
      sqlite_.run(
          "INSERT INTO hint VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
          "helped = max(helped, excluded.helped)",
          student, milestone, hint.list, hint.number, hint.finding, helped(hint, notes.checks));
    }
    for (const auto& [stage, slip] : notebook.predictions) {
      const auto counted = notebook.explained.find(stage);
      const Counted now = counted == notebook.explained.end() ? Counted{} : counted->second;
      sqlite_.run(
          "INSERT INTO prediction VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
          "counted_loads = max(counted_loads, excluded.counted_loads), "
          "counted_inputs = max(counted_inputs, excluded.counted_inputs)",
          student, milestone, stage, slip.limiter, slip.loads, slip.inputs, slip.op_ms, now.loads,
          now.inputs);
    }
  });
}

Table ClassDatabase::table(const std::string& view, const std::string& milestone) const {
  return sqlite_.table("SELECT * FROM " + view + " WHERE ?1 IN ('', milestone)", milestone);
}

int helped(const ShownHint& hint, const std::vector<HistoryEntry>& checks) {
  if (hint.finding.empty()) return -1;
  for (const HistoryEntry& check : checks) {
    const bool looked =
        hint.stage.empty() || std::ranges::find(check.stages, hint.stage) != check.stages.end();
    if (check.created <= hint.shown || !looked) continue;
    const bool still = std::ranges::any_of(check.findings, [&](const Finding& each) {
      return each.id == hint.finding && (hint.stage.empty() || each.stage == hint.stage);
    });
    return still ? 0 : 1;
  }
  return -1;
}

StudentNotes parse_notes(const std::string& notebook, const std::string& history) {
  if (notebook.empty()) return {};
  StudentNotes notes{.checks = parse_history(history)};
  try {
    notes.notebook = parse_notebook(notebook, "notebook.json");
  } catch (const EnvironmentError&) {
    return {};
  }
  constexpr int kMost = 1000;
  int kept = 0;
  std::erase_if(notes.notebook.hints, [&](const ShownHint& hint) {
    const bool good =
        hint.number > 0 && !hint.list.empty() && is_name(hint.list) && is_name(hint.finding);
    return !good || kept++ >= kMost;
  });
  std::erase_if(notes.notebook.predictions, [&](const auto& each) {
    const Prediction& slip = each.second;
    const bool known = std::ranges::find(kLimiters, slip.limiter) != kLimiters.end();
    return !is_id(each.first) || !known || kept++ >= 2 * kMost ||
           !std::isfinite(slip.loads + slip.inputs + slip.op_ms);
  });
  return notes;
}

}  // namespace convlab::grader
