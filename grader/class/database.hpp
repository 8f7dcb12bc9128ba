#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/result/json_fields.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/class/roster.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// The state of a submission. docs/class.md describes the database.
enum class SubmissionState {
  kWaiting,  ///< not checked yet, or begun and lost
  kChecked,  ///< correctness is known; times are missing
  kGraded,   ///< done
  kRefused,  ///< unreadable, or not for this milestone; the sentence says why
  kStopped,  ///< took longer than the limit
  kMachine,  ///< the machine was at fault; the next run tries again
};

const char* to_string(SubmissionState state);

/// Of a submission that could not be read, and whose name does not say it.
inline constexpr const char* kUnknownMilestone = "?";

/// One submission as the list shows it.
struct SubmissionRow {
  std::int64_t id = 0;
  std::string student{};
  std::string alias{};
  std::string milestone{};  ///< or kUnknownMilestone
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
  std::string rules{};    ///< of the points and the grader that gave them
  std::string revoked{};  ///< why it no longer counts; empty: it counts
};

struct Outcome {
  SubmissionState state = SubmissionState::kMachine;
  std::string sentence{};
  double seconds = 0.0;
  std::optional<CheckResult> check{};
};

/// Words of a human on a submission.
struct Comment {
  std::int64_t id = 0;
  std::string finding{};  ///< goes to all submissions with this finding; empty: to one
  std::string place{};    ///< and with this line, "conv_forward.cu:41", or with one of this file
  std::string text{};
  bool for_staff = false;  ///< never leaves the class
};

/// The class: students, submissions, results, in one SQLite file, for one thread. Every change is
/// one transaction. SQLite's errors are thrown as an EnvironmentError that says what to do.
class ClassDatabase {
 public:
  enum class Access { kRead, kChange, kGrade };

  /// Opens it and updates an older one. For changes it is locked: there is one writer at a time.
  /// For grading it is created if it is missing, too.
  /// @throws UsageError if there is none
  /// @throws EnvironmentError if it is damaged, of a newer grader, of another program, in use by
  ///   another grader, or cannot be written
  ClassDatabase(const std::filesystem::path& file, Access access);

  /// Runs one statement; the values replace its `?` from left to right.
  /// @return the number in its first row; 0 without a row
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
  /// The texts of a query with one column.
  template <class... Values>
  [[nodiscard]] std::vector<std::string> texts(const std::string& sql,
                                               const Values&... values) const {
    return rows<std::string>(
        sql, [](std::string& text) { return std::tie(text); }, values...);
  }
  /// One of the views of schema.sql that have a milestone, as texts; a REAL with three digits.
  /// @param milestone  only of this one; empty: of all
  [[nodiscard]] Table table(const std::string& view, const std::string& milestone = "") const;

  /// Adds students that are missing, and fills in further fields of the roster. @return the last
  /// one's number
  std::int64_t add_students(const std::vector<Student>& students);
  std::int64_t add_student(const Student& student) { return add_students({student}); }
  [[nodiscard]] std::vector<Student> students() const;

  /// The submission of these files, new or known. @return its number in this database
  std::int64_t add_submission(std::int64_t student, const std::string& milestone,
                              const std::string& digest, const FoundSubmission& found);
  /// Adds what a student noted in a milestone to what earlier archives held.
  /// @param notebook  the text of notebook.json
  /// @param history   the text of history.jsonl: the checks between which hints were read
  void keep_notes(std::int64_t student, const std::string& milestone, const std::string& notebook,
                  const std::string& history);

  /// Stores the outcome of a submission. Keeps the one that it replaces, if grading had ended.
  /// @param rules  of the points and the grader that gave them
  void set_outcome(std::int64_t submission, const Outcome& outcome, const std::string& rules = "");

  /// Those that go to a submission, the oldest first.
  [[nodiscard]] std::vector<Comment> comments(const SubmissionRow& row) const;

  [[nodiscard]] std::optional<SubmissionRow> submission(std::int64_t id) const;
  /// By milestone, student and attempt; an empty name stands for all.
  [[nodiscard]] std::vector<SubmissionRow> submissions(const std::string& student = "",
                                                       const std::string& milestone = "") const;

  /// The whole result of a submission, if it has one. @throws EnvironmentError if it is damaged
  [[nodiscard]] std::optional<CheckResult> result(std::int64_t submission) const;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  void migrate(Access access);
  std::string new_alias();
  [[noreturn]] void fail(const SQLite::Exception& error) const;

  template <class Work>
  auto told(Work work) const {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      fail(error);
    }
  }
  /// All of what `work` runs, or nothing if it throws.
  template <class Work>
  void transaction(Work work) const {
    told([&] {
      SQLite::Transaction all(*connection_, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      all.commit();
    });
  }
  template <class See, class... Values>
  void for_each_row(const std::string& sql, See see, const Values&... values) const {
    told([&] {
      SQLite::Statement statement(*connection_, sql);
      SQLite::bind(statement, values...);
      while (statement.executeStep()) see(statement);
    });
  }
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
  Descriptor lock_;
  std::unique_ptr<SQLite::Database> connection_;
};

}  // namespace convlab::grader
