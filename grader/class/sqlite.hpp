#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/result/json_fields.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

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

  /// Shows the rows of a query one after the other.
  /// @param fields  of a row, in the order of the columns: [](Row& r) { return std::tie(r.name); }
  template <class Row, class See, class Fields, class... Values>
  void for_each(const std::string& sql, See see, Fields fields, const Values&... values) const {
    Row row;
    const auto fill = [&](SQLite::Statement& from) {
      int column = 0;
      std::apply([&](auto&... value) { (get(from.getColumn(column++), value), ...); }, fields(row));
      see(row);
    };
    for_each_row(sql, fill, values...);
  }
  template <class Row, class Fields, class... Values>
  [[nodiscard]] std::vector<Row> rows(const std::string& sql, Fields fields,
                                      const Values&... values) const {
    std::vector<Row> rows;
    for_each<Row>(
        sql, [&](const Row& row) { rows.push_back(row); }, fields, values...);
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

}  // namespace convlab::grader
