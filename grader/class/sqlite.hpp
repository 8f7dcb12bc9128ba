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

#include "grader/report/table.hpp"

namespace convlab::grader {

/// A connection to an SQLite file. It throws SQLite's errors as one sentence that names the file
/// and says what to do: a full disk, a damaged file, a file that is not a database. The values of a
/// statement replace its `?` from left to right. Used by one thread at a time.
class SqliteFile {
 public:
  /// @param create  whether to create a missing file
  /// @throws EnvironmentError if it cannot be opened
  SqliteFile(std::filesystem::path file, bool create);

  /// Runs statements without values, one after the other. @throws EnvironmentError
  void run_all(const char* sql) const;

  /// Runs one statement. @return the number in its first row; 0 without a row
  /// @throws EnvironmentError
  template <class... Values>
  std::int64_t run(const char* sql, const Values&... values) const;

  /// The rows of a query.
  /// @param fields  of a row, in the order of the columns: [](Row& r) { return std::tie(r.name); }
  /// @throws EnvironmentError
  template <class Row, class Fields, class... Values>
  [[nodiscard]] std::vector<Row> rows(const char* sql, Fields fields,
                                      const Values&... values) const;

  /// All of what `work` runs, or nothing if it throws.
  template <class Work>
  void transaction(Work work) const;

  [[noreturn]] void fail(int code) const;

  [[nodiscard]] sqlite3* handle() const { return connection_.get(); }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { ::sqlite3_close_v2(connection); }
  };
  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A statement that runs several times, or whose rows are read one after the other.
class SqliteQuery {
 public:
  SqliteQuery(const SqliteFile& file, const char* sql);

  /// Begins (again) with these values.
  template <class... Values>
  void begin(const Values&... values) {
    ::sqlite3_reset(statement_.get());
    [[maybe_unused]] int place = 0;
    (bind(++place, values), ...);
  }
  /// @return whether there is a row. @throws EnvironmentError
  bool step();
  /// All rows that are left, below the names of the columns, as texts; a REAL with three digits.
  Table table();
  /// The columns of this row from the first one on, each as the type of its value.
  template <class... Values>
  void read(std::tuple<Values&...> values) const {
    int column = 0;
    std::apply([&](auto&... value) { (get(column++, value), ...); }, values);
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
  };
  void bind(int place, std::integral auto value) {
    check(::sqlite3_bind_int64(statement_.get(), place, static_cast<std::int64_t>(value)));
  }
  void bind(int place, double value);
  void bind(int place, std::string_view text);
  void bind(int place, const std::vector<std::uint8_t>& bytes);
  void check(int code) const;

  void get(int column, std::integral auto& value) const {
    using Value = std::remove_reference_t<decltype(value)>;
    value = static_cast<Value>(::sqlite3_column_int64(statement_.get(), column));
  }
  void get(int column, double& value) const;
  void get(int column, std::string& value) const;  // bytes, too; empty for NULL

  const SqliteFile& file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

template <class... Values>
std::int64_t SqliteFile::run(const char* sql, const Values&... values) const {
  SqliteQuery query(*this, sql);
  query.begin(values...);
  std::int64_t number = 0;
  if (query.step()) query.read(std::tie(number));
  return number;
}

template <class Row, class Fields, class... Values>
std::vector<Row> SqliteFile::rows(const char* sql, Fields fields, const Values&... values) const {
  SqliteQuery query(*this, sql);
  query.begin(values...);
  std::vector<Row> rows;
  while (query.step()) query.read(fields(rows.emplace_back()));
  return rows;
}

template <class Work>
void SqliteFile::transaction(Work work) const {
  run("BEGIN IMMEDIATE");
  try {
    work();
    run("COMMIT");
  } catch (...) {
    ::sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

}  // namespace convlab::grader
