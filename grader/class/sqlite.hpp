#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace convlab::grader {

/// A connection to an SQLite file. It throws SQLite's errors as one sentence that names the file
/// and says what to do: a full disk, a damaged file, a file that is not a database.
class SqliteFile {
 public:
  /// @param create  whether to create a missing file
  /// @throws EnvironmentError if it cannot be opened
  SqliteFile(std::filesystem::path file, bool create);

  /// Runs statements that return nothing. @throws EnvironmentError
  void run(const char* sql) const;

  /// The value of a pragma or of a query with one number. @throws EnvironmentError
  [[nodiscard]] std::int64_t number(const char* sql) const;

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

/// A query with its parameters, bound from left to right; then step() for each row.
class SqliteQuery {
 public:
  SqliteQuery(const SqliteFile& file, const char* sql);

  SqliteQuery& bind(std::int64_t value);
  SqliteQuery& bind(double value);
  SqliteQuery& bind(std::string_view text);
  SqliteQuery& bind_bytes(std::string_view bytes);

  /// @return whether there is a row. @throws EnvironmentError
  bool step();
  /// One more run with other parameters.
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;  ///< bytes, too; empty for NULL

  /// The columns of this row from the first one on, each as the type of its value.
  template <class... Values>
  void read(Values&... values) const {
    int column = 0;
    (read_one(column++, values), ...);
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
  };
  void check(int code) const;
  template <class Value>
  void read_one(int column, Value& value) const {
    if constexpr (std::is_same_v<Value, std::string>) {
      value = text(column);
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = integer(column) != 0;
    } else if constexpr (std::is_same_v<Value, double>) {
      value = real(column);
    } else {
      value = static_cast<Value>(integer(column));
    }
  }

  const SqliteFile& file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameter_ = 0;
};

/// All or nothing: the destructor undoes what was not committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(const SqliteFile& file) : file_(file) { file_.run("BEGIN IMMEDIATE"); }
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction() {
    if (open_) ::sqlite3_exec(file_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() {
    file_.run("COMMIT");
    open_ = false;
  }

 private:
  const SqliteFile& file_;
  bool open_ = true;
};

}  // namespace convlab::grader
