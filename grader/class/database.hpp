#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/result/json_fields.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/class/roster.hpp"
#include "grader/course/progress.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// What students noted: the notebook and the checks that grader submit packs. They are theirs to
/// change, so no point depends on them.
struct StudentNotes {
  Notebook notebook{};
  std::vector<HistoryEntry> checks{};
};

/// The notes of one archive. Hints and predictions that do not read as such are left out.
/// @param notebook  the text of notebook.json
/// @param history   the text of history.jsonl: the checks between which hints were read
StudentNotes parse_notes(const std::string& notebook, const std::string& history);

/// Whether the first check after a hint that looked at its stage no longer found what the hint was
/// about: 1 or 0; −1 if there was no such check.
int helped(const ShownHint& hint, const std::vector<HistoryEntry>& checks);

/// The state of a submission. docs/class.md describes the database.
enum class SubmissionState {
  kWaiting,  ///< not checked yet, or begun and lost
  kChecked,  ///< correctness is known; times are missing
  kGraded,   ///< done
  kRefused,  ///< unreadable, or not for this milestone; the sentence says why
  kStopped,  ///< took longer than the limit
  kMachine,  ///< the machine was at fault; the next run tries again
};

/// "waiting", "checked", "graded", "refused", "stopped", "machine".
const char* to_string(SubmissionState state);

/// One submission as the list shows it.
struct SubmissionRow {
  std::int64_t id = 0;
  std::string student{};
  std::string alias{};
  std::string milestone{};
  int attempt = 0;  ///< 1, 2, … of this student and milestone, by the time it was received
  std::string place{};
  std::string received{};
  SubmissionState state = SubmissionState::kWaiting;
  std::string sentence{};
  std::string finding{};  ///< id of the first finding; empty where all passed
  bool passed = false;
  double earned = 0.0;
  double counted = 0.0;
  double total = 0.0;
  double seconds = 0.0;   ///< that grading took
  std::string rules{};    ///< of the points and the grader that gave them, see rules_of()
  std::string revoked{};  ///< why it no longer counts; empty: it counts
};

/// The outcome of a submission.
struct Outcome {
  SubmissionState state = SubmissionState::kMachine;
  std::string sentence{};
  double seconds = 0.0;
  std::optional<CheckResult> check{};

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Words of a human on submissions.
struct Comment {
  std::int64_t id = 0;
  std::string milestone{};
  std::string finding{};        ///< goes to all submissions with this finding; empty: to one
  std::string place{};          ///< and with this in what was seen, such as "conv_forward.cu:41"
  std::int64_t submission = 0;  ///< or to this one; 0: to all with the finding
  std::string text{};
  bool for_staff = false;  ///< never leaves the class
};

/// A connection to an SQLite file. It throws SQLite's errors as one sentence that names the file
/// and says what to do: a full disk, a damaged file, a file that is not a database. The values of a
/// statement replace its `?` from left to right. Used by one thread at a time.
class SqliteFile {
 public:
  /// @param create  whether to create a missing file
  /// @throws EnvironmentError if it cannot be opened, as all functions do for any error
  SqliteFile(const std::filesystem::path& file, bool create);

  /// Runs statements without values, one after the other.
  void run_all(const std::string& sql) const;

  /// Runs one statement. @return the number in its first row; 0 without a row
  template <class... Values>
  std::int64_t run(const std::string& sql, const Values&... values) const {
    std::int64_t number = 0;
    for_each_row(
        sql, [&](SQLite::Statement& row) { number = row.getColumn(0).getInt64(); }, values...);
    return number;
  }

  /// The rows of a query.
  /// @param fields  of a row, in the order of the columns: [](Row& r) { return std::tie(r.name); }
  template <class Row, class Fields, class... Values>
  [[nodiscard]] std::vector<Row> rows(const std::string& sql, Fields fields,
                                      const Values&... values) const {
    std::vector<Row> rows;
    const auto add = [&](SQLite::Statement& from) {
      int column = 0;
      std::apply([&](auto&... value) { (get(from.getColumn(column++), value), ...); },
                 fields(rows.emplace_back()));
    };
    for_each_row(sql, add, values...);
    return rows;
  }
  /// The same below the names of the columns, as texts; a REAL with three digits.
  [[nodiscard]] Table table(const std::string& sql, const std::string& value) const;

  /// All of what `work` runs, or nothing if it throws.
  template <class Work>
  void transaction(Work work) const {
    told([&] {
      SQLite::Transaction all(connection_, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      all.commit();
    });
  }

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  template <class See, class... Values>
  void for_each_row(const std::string& sql, See see, const Values&... values) const {
    told([&] {
      // Kept: of a long roster each student needs the same statements.
      auto statement = std::exchange(prepared_[sql], nullptr);
      if (!statement) statement = std::make_unique<SQLite::Statement>(connection_, sql);
      SQLite::bind(*statement, values...);
      while (statement->executeStep()) see(*statement);
      statement->reset();
      prepared_[sql] = std::move(statement);
    });
  }
  template <class Work>
  void told(Work work) const {
    try {
      work();
    } catch (const SQLite::Exception& error) {
      fail(file_, error);
    }
  }
  [[noreturn]] static void fail(const std::filesystem::path& file, const SQLite::Exception& error);

  template <class T>
  static void get(const SQLite::Column& column, T& value) {
    if constexpr (std::is_enum_v<T>) {
      from_json(Json(column.getString()), value);
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(column.getInt64());
    } else if constexpr (std::floating_point<T>) {
      value = column.getDouble();
    } else {
      value = column.getString();  // "" for NULL
    }
  }

  std::filesystem::path file_;
  mutable SQLite::Database connection_;
  mutable std::map<std::string, std::unique_ptr<SQLite::Statement>> prepared_;  ///< not in use
};

/// The class: students, submissions, results, in one SQLite file. Every change is one transaction,
/// so a killed grader loses nothing that it has printed. One thread uses it at a time.
class ClassDatabase {
 public:
  enum class Access { kRead, kChange, kGrade };

  /// Opens it and updates an older one. For changes it is locked: there is one writer at a time.
  /// For grading it is created if it is missing, too.
  /// @throws UsageError if there is none
  /// @throws EnvironmentError if it is damaged, of a newer grader, of another program, in use by
  ///   another grader, or cannot be written
  ClassDatabase(const std::filesystem::path& file, Access access);

  /// Adds students that are missing, and fills in further fields of the roster, all in one
  /// transaction.
  /// @return the last one's number in this database
  std::int64_t add_students(const std::vector<Student>& students);
  std::int64_t add_student(const Student& student) { return add_students({student}); }

  /// The submission of these files, new or known. @return its number in this database
  std::int64_t add_submission(std::int64_t student, const std::string& milestone,
                              const std::string& digest, const FoundSubmission& found);

  /// Stores the outcome of a submission, with the largest possible points. Keeps the one that it
  /// replaces, if grading had ended.
  /// @param rules  see rules_of()
  void set_outcome(std::int64_t submission, const Outcome& outcome, double total,
                   const std::string& rules = "");
  /// What became of a submission, in words: outcomes that were replaced, revocations.
  [[nodiscard]] std::vector<std::string> history(std::int64_t submission) const;

  /// Says why a submission waits.
  void set_sentence(std::int64_t submission, const std::string& sentence);
  /// Attempts of the same student at the same milestone in the hour before this one.
  [[nodiscard]] int attempts_in_hour_before(std::int64_t submission) const;

  /// The text of the term file that is in force; empty without one.
  [[nodiscard]] std::string term_text() const;
  void set_term_text(const std::string& text);

  /// From now on a submission counts for nothing. Its points and results stay.
  void revoke(std::int64_t submission, const std::string& reason, const std::string& evidence);
  /// It counts again; reason and evidence stay in the table.
  /// @return whether it was revoked
  bool restore(std::int64_t submission);

  void add_comment(const Comment& comment);
  /// @return whether there was one of this number
  bool remove_comment(std::int64_t id);
  /// The comments that go to a submission, the oldest first.
  /// @param row  of submissions()
  [[nodiscard]] std::vector<Comment> comments(const SubmissionRow& row) const;

  /// Adds what a student noted in a milestone to what earlier archives held.
  /// @param student  of add_student()
  void keep_notes(std::int64_t student, const std::string& milestone, const StudentNotes& notes);
  /// What the database itself computes: one of the views of schema.sql that have a milestone.
  /// @param milestone  only of this one; empty: of all
  [[nodiscard]] Table table(const std::string& view, const std::string& milestone = "") const;

  /// One submission; its attempt is not counted, it is 1.
  [[nodiscard]] std::optional<SubmissionRow> submission(std::int64_t id) const;
  /// All submissions, by milestone, student and attempt.
  /// @param student    only this one's; empty: everybody's
  /// @param milestone  only of this one; empty: of all
  [[nodiscard]] std::vector<SubmissionRow> submissions(const std::string& student = "",
                                                       const std::string& milestone = "") const;
  [[nodiscard]] std::vector<Student> students() const;

  /// The whole result of a submission, if it has one. @throws EnvironmentError if it is damaged
  [[nodiscard]] std::optional<CheckResult> result(std::int64_t submission) const;

  [[nodiscard]] const std::filesystem::path& file() const { return sqlite_.file(); }

 private:
  void migrate(Access access);
  std::string new_alias();

  Descriptor lock_;
  SqliteFile sqlite_;
};

}  // namespace convlab::grader
