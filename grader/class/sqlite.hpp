#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
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
  SqliteFile(std::filesystem::path file, bool create);

  /// Runs statements without values, one after the other.
  void run_all(const char* sql) const;

  /// Runs one statement. @return the number in its first row; 0 without a row
  template <class... Values>
  std::int64_t run(const char* sql, const Values&... values) const {
    const Statement statement = begin(sql, values...);
    return step(statement) ? ::sqlite3_column_int64(statement.get(), 0) : 0;
  }

  /// Shows the rows of a query one after the other.
  /// @param fields  of a row, in the order of the columns: [](Row& r) { return std::tie(r.name); }
  template <class Row, class See, class Fields, class... Values>
  void for_each(const char* sql, See see, Fields fields, const Values&... values) const {
    const Statement statement = begin(sql, values...);
    for (Row row; step(statement);) {
      int column = 0;
      std::apply([&](auto&... value) { (get(statement.get(), column++, value), ...); },
                 fields(row));
      see(row);
    }
  }
  template <class Row, class Fields, class... Values>
  [[nodiscard]] std::vector<Row> rows(const char* sql, Fields fields,
                                      const Values&... values) const {
    std::vector<Row> rows;
    for_each<Row>(
        sql, [&](const Row& row) { rows.push_back(row); }, fields, values...);
    return rows;
  }
  /// The same below the names of the columns, as texts; a REAL with three digits.
  template <class... Values>
  [[nodiscard]] Table table(const char* sql, const Values&... values) const {
    return table(begin(sql, values...));
  }

  /// All of what `work` runs, or nothing if it throws.
  template <class Work>
  void transaction(Work work) const {
    run("BEGIN IMMEDIATE");
    try {
      work();
      run("COMMIT");
    } catch (...) {
      ::sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  template <auto release>
  struct Release {
    void operator()(auto* each) const { release(each); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Release<::sqlite3_finalize>>;

  template <class... Values>
  Statement begin(const char* sql, const Values&... values) const {
    sqlite3_stmt* prepared = nullptr;
    check(::sqlite3_prepare_v2(connection_.get(), sql, -1, &prepared, nullptr));
    Statement statement(prepared);
    [[maybe_unused]] int place = 0;
    (check(bind(prepared, ++place, values)), ...);
    return statement;
  }
  [[nodiscard]] bool step(const Statement& statement) const;
  [[nodiscard]] Table table(const Statement& statement) const;
  void check(int code) const;

  static int bind(sqlite3_stmt* statement, int place, std::integral auto value) {
    return ::sqlite3_bind_int64(statement, place, static_cast<std::int64_t>(value));
  }
  static int bind(sqlite3_stmt* statement, int place, double value);
  static int bind(sqlite3_stmt* statement, int place, std::string_view text);
  static int bind(sqlite3_stmt* statement, int place, const std::vector<std::uint8_t>& bytes);

  static void get(sqlite3_stmt* statement, int column, std::integral auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    value = static_cast<Value>(::sqlite3_column_int64(statement, column));
  }
  static void get(sqlite3_stmt* statement, int column, double& value);
  static void get(sqlite3_stmt* statement, int column, std::string& value);  // "" for NULL
  template <class Enum>
  requires std::is_enum_v<Enum>
  static void get(sqlite3_stmt* statement, int column, Enum& value) {
    std::string name;
    get(statement, column, name);
    from_json(Json(name), value);
  }

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Release<::sqlite3_close_v2>> connection_;
};

}  // namespace convlab::grader
