#include "grader/class/database.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/data/gzip.hpp"
#include "common/timing/statistics.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// Marks this program's files: "CLAB".
constexpr std::int64_t kApplication = 0x434c4142;

// One text for each version; a database runs those that it lacks, in order. Never change a released
// one: add another.
constexpr std::array kMigrations = {
    R"(
CREATE TABLE student (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  alias   TEXT NOT NULL UNIQUE,
  number  TEXT NOT NULL DEFAULT '',
  login   TEXT NOT NULL DEFAULT '',
  email   TEXT NOT NULL DEFAULT '',
  section TEXT NOT NULL DEFAULT '',
  canvas  TEXT NOT NULL DEFAULT ''
);
CREATE TABLE submission (
  id        INTEGER PRIMARY KEY,
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  digest    TEXT NOT NULL,
  place     TEXT NOT NULL,
  received  TEXT NOT NULL,
  state     TEXT NOT NULL DEFAULT 'waiting',
  sentence  TEXT NOT NULL DEFAULT '',
  finding   TEXT NOT NULL DEFAULT '',
  passed    INTEGER NOT NULL DEFAULT 0,
  earned    REAL NOT NULL DEFAULT 0,
  counted   REAL NOT NULL DEFAULT 0,
  total     REAL NOT NULL DEFAULT 0,
  seconds   REAL NOT NULL DEFAULT 0,
  UNIQUE (student, milestone, digest)
);
CREATE TABLE result (
  submission INTEGER PRIMARY KEY REFERENCES submission(id),
  json       BLOB NOT NULL
);
CREATE TABLE speed (
  submission   INTEGER NOT NULL REFERENCES submission(id),
  stage        TEXT NOT NULL,
  batch        INTEGER NOT NULL,
  yours_ms     REAL NOT NULL,
  reference_ms REAL NOT NULL,
  floor_ms     REAL NOT NULL,
  speed        REAL NOT NULL,
  PRIMARY KEY (submission, stage, batch)
) WITHOUT ROWID;
)",
    // Lists go through the students by name, and for each through this, and need not sort.
    R"(
CREATE INDEX submission_order ON submission (student, milestone, received);
CREATE INDEX submission_milestone ON submission (milestone, state, passed);
)",
    // A term: rules, outcomes that were replaced, what was found out later, words of a human.
    R"(
ALTER TABLE submission ADD COLUMN rules TEXT NOT NULL DEFAULT '';
ALTER TABLE speed ADD COLUMN precision TEXT NOT NULL DEFAULT '';
CREATE TABLE term (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  json TEXT NOT NULL
);
CREATE TABLE earlier (
  id         INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission(id),
  replaced   TEXT NOT NULL,
  rules      TEXT NOT NULL,
  state      TEXT NOT NULL,
  sentence   TEXT NOT NULL,
  finding    TEXT NOT NULL,
  passed     INTEGER NOT NULL,
  earned     REAL NOT NULL,
  counted    REAL NOT NULL,
  total      REAL NOT NULL,
  json       BLOB
);
CREATE TABLE revocation (
  id         INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission(id),
  reason     TEXT NOT NULL,
  evidence   TEXT NOT NULL,
  revoked    TEXT NOT NULL,
  restored   TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX revocation_open ON revocation (submission) WHERE restored = '';
CREATE TABLE comment (
  id         INTEGER PRIMARY KEY,
  milestone  TEXT NOT NULL,
  finding    TEXT NOT NULL,
  place      TEXT NOT NULL,
  submission INTEGER NOT NULL,
  text       TEXT NOT NULL,
  for_staff  INTEGER NOT NULL,
  written    TEXT NOT NULL
);
)",
    // What students noted. Each archive holds all that its student noted until then.
    R"(
CREATE TABLE hint (
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  list      TEXT NOT NULL,
  number    INTEGER NOT NULL,
  finding   TEXT NOT NULL,
  helped    INTEGER NOT NULL,
  PRIMARY KEY (student, milestone, list, number)
) WITHOUT ROWID;
CREATE TABLE prediction (
  student        INTEGER NOT NULL REFERENCES student(id),
  milestone      TEXT NOT NULL,
  stage          TEXT NOT NULL,
  limiter        TEXT NOT NULL,
  loads          REAL NOT NULL,
  inputs         REAL NOT NULL,
  op_ms          REAL NOT NULL,
  counted_loads  REAL NOT NULL,
  counted_inputs REAL NOT NULL,
  PRIMARY KEY (student, milestone, stage)
) WITHOUT ROWID;
)"};
constexpr auto kVersion = static_cast<std::int64_t>(kMigrations.size());

constexpr const char* kSubmissionColumns =
    "SELECT s.id, t.name, t.alias, s.milestone, "
    "s.place, s.received, s.state, s.sentence, s.finding, s.passed, s.earned, s.counted, s.total, "
    "s.seconds, s.rules, (SELECT reason FROM revocation r WHERE r.submission = s.id AND "
    "r.restored = '') FROM ";

SubmissionState state_of(const std::string& name) {
  int number = 0;
  while (number < static_cast<int>(SubmissionState::kMachine) &&
         name != to_string(static_cast<SubmissionState>(number))) {
    ++number;
  }
  return static_cast<SubmissionState>(number);
}

// The precision class in which an item's stage was measured.
std::string precision_of(const CheckResult& check, const ScoreItem& item) {
  for (const RunResult& run : check.result.runs) {
    if (run.stage.id == item.stage && run.batch == item.batch)
      return to_string(run.stage.precision);
  }
  return {};
}

SubmissionRow row_of(const SqliteQuery& query) {
  SubmissionRow row;
  std::string state;
  query.read(row.id, row.student, row.alias, row.milestone, row.place, row.received, state,
             row.sentence, row.finding, row.passed, row.earned, row.counted, row.total, row.seconds,
             row.rules, row.revoked);
  row.state = state_of(state);
  return row;
}

Descriptor lock_beside(const fs::path& file) {
  const std::string name = file.string() + ".lock";
  Descriptor lock(::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (!lock.is_open()) {
    throw EnvironmentError("Cannot write " + name + ": " + std::strerror(errno) +
                           "; name another --database, or change the folder's permissions.");
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> holder{};
    const ssize_t size = ::pread(lock.get(), holder.data(), holder.size() - 1, 0);
    throw EnvironmentError(
        "Another grader (process " +
        std::string(holder.data(), size > 0 ? static_cast<std::size_t>(size) : 0) +
        ") is grading into " + file.string() + "; wait for it, or name another --database.");
  }
  const std::string own = std::to_string(::getpid());
  // The number is for the words above only, so it does not matter if it cannot be written.
  if (::ftruncate(lock.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t size = ::pwrite(lock.get(), own.data(), own.size(), 0);
  }
  return lock;
}

}  // namespace

const char* to_string(SubmissionState state) {
  return enum_name(state, {"waiting", "checked", "graded", "refused", "stopped", "machine"});
}

ClassDatabase::ClassDatabase(const fs::path& file, Access access) {
  const bool creates = access == Access::kGrade;
  if (!creates && !fs::exists(file)) {
    throw UsageError("There is no database " + file.string() +
                     "; grade first: build/bin/grader class grade DIR");
  }
  if (access != Access::kRead) {
    std::error_code exists;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), exists);
    lock_ = lock_beside(file);
  }
  sqlite_ = std::make_unique<SqliteFile>(file, creates);
  migrate();
}

void ClassDatabase::migrate() {
  const std::int64_t application = sqlite_->number("PRAGMA application_id");
  const std::int64_t tables = sqlite_->number("SELECT count(*) FROM sqlite_master");
  if (tables > 0 && application != kApplication) {
    throw EnvironmentError("The file " + file().string() +
                           " is a database of another program; name another --database.");
  }
  const std::int64_t version = sqlite_->number("PRAGMA user_version");
  if (version > kVersion) {
    throw EnvironmentError("The database " + file().string() +
                           " was written by a newer grader (version " + std::to_string(version) +
                           ", this one knows " + std::to_string(kVersion) +
                           "); use that grader, or another --database.");
  }
  // A reader sees the last complete state while a writer goes on.
  sqlite_->run("PRAGMA journal_mode = WAL");
  sqlite_->run("PRAGMA foreign_keys = ON");
  if (version == kVersion) return;
  SqliteTransaction transaction(*sqlite_);
  for (auto i = static_cast<std::size_t>(version); i < kMigrations.size(); ++i) {
    sqlite_->run(kMigrations[i]);
  }
  sqlite_->run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
  sqlite_->run(("PRAGMA user_version = " + std::to_string(kVersion)).c_str());
  transaction.commit();
}

// Random, not computed from the name: nobody can find a name by trying.
std::string ClassDatabase::new_alias() {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  std::random_device random;
  while (true) {
    std::string alias = "S-";
    for (int i = 0; i < 4; ++i) alias += kLetters[random() % kLetters.size()];
    SqliteQuery query(*sqlite_, "SELECT 1 FROM student WHERE alias = ?");
    if (!query.bind(alias).step()) return alias;
  }
}

std::int64_t ClassDatabase::add_student(const Student& student) {
  const std::lock_guard lock(mutex_);
  SqliteTransaction transaction(*sqlite_);
  SqliteQuery insert(*sqlite_, "INSERT OR IGNORE INTO student (name, alias) VALUES (?, ?)");
  insert.bind(student.name).bind(new_alias()).step();
  SqliteQuery update(*sqlite_,
                     "UPDATE student SET number = coalesce(nullif(?, ''), number), "
                     "login = coalesce(nullif(?, ''), login), "
                     "email = coalesce(nullif(?, ''), email), "
                     "section = coalesce(nullif(?, ''), section), "
                     "canvas = coalesce(nullif(?, ''), canvas) WHERE name = ?");
  update.bind(student.number).bind(student.login).bind(student.email).bind(student.section);
  update.bind(student.canvas).bind(student.name).step();
  SqliteQuery find(*sqlite_, "SELECT id FROM student WHERE name = ?");
  find.bind(student.name).step();
  const std::int64_t id = find.integer(0);
  transaction.commit();
  return id;
}

std::int64_t ClassDatabase::add_submission(std::int64_t student, const std::string& milestone,
                                           const std::string& digest,
                                           const FoundSubmission& found) {
  const std::lock_guard lock(mutex_);
  SqliteQuery insert(*sqlite_,
                     "INSERT OR IGNORE INTO submission (student, milestone, digest, place, "
                     "received) VALUES (?, ?, ?, ?, ?)");
  insert.bind(student).bind(milestone).bind(digest).bind(printable_line(found.place.string()));
  insert.bind(found.received).step();
  SqliteQuery find(*sqlite_,
                   "SELECT id FROM submission WHERE student = ? AND milestone = ? AND digest = ?");
  find.bind(student).bind(milestone).bind(digest).step();
  return find.integer(0);
}

void ClassDatabase::set_outcome(std::int64_t submission, const Outcome& outcome, double total,
                                const std::string& rules) {
  const std::lock_guard lock(mutex_);
  const CheckResult* check = outcome.check ? &*outcome.check : nullptr;
  const Score* score = check != nullptr && check->score ? &*check->score : nullptr;
  SqliteTransaction transaction(*sqlite_);
  SqliteQuery keep(
      *sqlite_,
      "INSERT INTO earlier (submission, replaced, rules, state, sentence, finding, "
      "passed, earned, counted, total, json) SELECT id, "
      "strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), rules, state, sentence, finding, passed, "
      "earned, counted, total, (SELECT json FROM result WHERE submission = id) "
      "FROM submission WHERE id = ? AND state IN ('graded', 'refused', 'stopped')");
  keep.bind(submission).step();
  SqliteQuery update(*sqlite_,
                     "UPDATE submission SET state = ?, sentence = ?, finding = ?, passed = ?, "
                     "earned = ?, counted = ?, total = ?, seconds = seconds + ?, rules = ? "
                     "WHERE id = ?");
  const bool found = check != nullptr && !check->findings.empty();
  update.bind(to_string(outcome.state)).bind(outcome.sentence);
  update.bind(found ? std::string_view(check->findings.front().id) : std::string_view());
  const bool passed = check != nullptr && check->result.verdict == Verdict::kPassed;
  update.bind(static_cast<std::int64_t>(passed)).bind(score == nullptr ? 0.0 : score->earned());
  update.bind(score == nullptr ? total : score->counted());
  update.bind(score == nullptr ? total : score->total()).bind(outcome.seconds);
  update.bind(rules).bind(submission).step();
  // What an outcome does not have must not stay from the one that it replaces.
  for (const char* old :
       {"DELETE FROM result WHERE submission = ?", "DELETE FROM speed WHERE submission = ?"}) {
    SqliteQuery(*sqlite_, old).bind(submission).step();
  }
  if (check != nullptr) {
    const std::string text = to_json(*check);
    const std::vector<std::uint8_t> packed = gzip({text.begin(), text.end()});
    SqliteQuery replace(*sqlite_, "INSERT INTO result VALUES (?, ?)");
    replace.bind(submission);
    replace.bind_bytes({reinterpret_cast<const char*>(packed.data()), packed.size()}).step();
  }
  if (score != nullptr) {
    SqliteQuery speed(*sqlite_, "INSERT OR REPLACE INTO speed VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (const ScoreItem& item : score->items) {
      if (!item.speed) continue;
      speed.reset();
      speed.bind(submission).bind(item.stage).bind(static_cast<std::int64_t>(item.batch));
      speed.bind(sum_of_medians(item.speed->yours_ms));
      speed.bind(sum_of_medians(item.speed->reference_ms));
      speed.bind(item.speed->floor_ms.value_or(0.0)).bind(item.speed->speed);
      speed.bind(precision_of(*check, item)).step();
    }
  }
  transaction.commit();
}

std::optional<SubmissionRow> ClassDatabase::submission(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(*sqlite_, (std::string(kSubmissionColumns) +
                               "submission s JOIN student t ON t.id = s.student WHERE s.id = ?")
                                  .c_str());
  if (!query.bind(id).step()) return std::nullopt;
  return row_of(query);
}

std::vector<SubmissionRow> ClassDatabase::submissions(const std::string& student,
                                                      const std::string& milestone) const {
  std::vector<SubmissionRow> rows;
  for_each_submission(student, milestone, [&](const SubmissionRow& row) { rows.push_back(row); });
  return rows;
}

void ClassDatabase::for_each_submission(
    const std::string& student, const std::string& milestone,
    const std::function<void(const SubmissionRow&)>& see) const {
  const std::lock_guard lock(mutex_);
  // CROSS JOIN keeps the order of the loops: students by name, and each one's attempts by time.
  SqliteQuery query(*sqlite_, (std::string(kSubmissionColumns) +
                               "student t CROSS JOIN submission s ON t.id = s.student "
                               "WHERE s.milestone = ?1 AND (?2 = '' OR t.name = ?2 COLLATE NOCASE"
                               " OR t.alias = ?2 OR t.login = ?2 OR t.number = ?2) "
                               "ORDER BY t.name, s.received, s.id")
                                  .c_str());
  std::vector<std::string> milestones;
  SqliteQuery distinct(*sqlite_, "SELECT DISTINCT milestone FROM submission ORDER BY milestone");
  while (distinct.step()) milestones.push_back(distinct.text(0));
  for (const std::string& each : milestones) {
    if (!milestone.empty() && each != milestone) continue;
    query.reset();
    query.bind(each).bind(student);
    std::string before;
    for (int attempt = 1; query.step(); ++attempt) {
      SubmissionRow row = row_of(query);
      // The attempts of a student are consecutive rows.
      if (row.student != before) attempt = 1;
      row.attempt = attempt;
      before = row.student;
      see(row);
    }
  }
}

std::vector<StateCount> ClassDatabase::counts() const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(*sqlite_,
                    "SELECT milestone, state, count(*), sum(passed) FROM submission "
                    "GROUP BY milestone, state ORDER BY milestone");
  std::vector<StateCount> counts;
  while (query.step()) {
    counts.push_back({.milestone = query.text(0),
                      .state = state_of(query.text(1)),
                      .count = static_cast<int>(query.integer(2)),
                      .passed = static_cast<int>(query.integer(3))});
  }
  return counts;
}

std::vector<Student> ClassDatabase::students() const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(*sqlite_,
                    "SELECT name, number, login, email, section, canvas FROM student "
                    "ORDER BY name");
  std::vector<Student> students;
  while (query.step()) {
    Student& row = students.emplace_back();
    query.read(row.name, row.number, row.login, row.email, row.section, row.canvas);
  }
  return students;
}

std::vector<SpeedRow> ClassDatabase::speeds() const {
  const std::lock_guard lock(mutex_);
  SqliteQuery query(
      *sqlite_,
      "SELECT s.id, t.name, t.alias, s.milestone, s.received, "
      "(SELECT count(*) FROM submission e WHERE e.student = s.student AND "
      " e.milestone = s.milestone AND (e.received, e.id) <= (s.received, s.id)), "
      "v.stage, v.batch, v.precision, v.yours_ms, v.reference_ms, v.floor_ms, v.speed "
      "FROM speed v JOIN submission s ON s.id = v.submission JOIN student t ON t.id = s.student "
      "WHERE NOT EXISTS (SELECT 1 FROM revocation r WHERE r.submission = s.id AND r.restored = '') "
      "ORDER BY s.milestone, v.stage, v.batch, v.yours_ms");
  std::vector<SpeedRow> rows;
  while (query.step()) {
    SpeedRow& row = rows.emplace_back();
    query.read(row.submission, row.student, row.alias, row.milestone, row.received, row.attempt,
               row.stage, row.batch, row.precision, row.yours_ms, row.reference_ms, row.floor_ms,
               row.speed);
  }
  return rows;
}

std::optional<CheckResult> ClassDatabase::result(std::int64_t submission) const {
  std::string packed;
  {
    const std::lock_guard lock(mutex_);
    SqliteQuery query(*sqlite_, "SELECT json FROM result WHERE submission = ?");
    if (!query.bind(submission).step()) return std::nullopt;
    packed = query.text(0);
  }
  constexpr std::size_t kLargest = std::size_t{256} << 20;
  const std::string name = "the result of submission " + std::to_string(submission);
  const auto bytes = gunzip({packed.begin(), packed.end()}, kLargest, name);
  return parse_check_result({bytes.begin(), bytes.end()}, name);
}

}  // namespace convlab::grader
