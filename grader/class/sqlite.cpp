#include "grader/class/sqlite.hpp"

#include <utility>

#include "common/base/error.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

SqliteFile::SqliteFile(std::filesystem::path file, bool create) : file_(std::move(file)) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = ::sqlite3_open_v2(file_.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);  // a connection that failed must be closed, too
  check(code);
  ::sqlite3_extended_result_codes(connection, 1);
  constexpr int kPatienceMs = 10'000;
  ::sqlite3_busy_timeout(connection, kPatienceMs);
  // A list of everything reads most pages more than once.
  ::sqlite3_exec(connection, "PRAGMA cache_size = -65536", nullptr, nullptr, nullptr);
}

void SqliteFile::run_all(const char* sql) const {
  check(::sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr));
}

void SqliteFile::check(int code) const {
  const std::string name = file_.string();
  constexpr int kPrimary = 0xff;  // the low byte of an extended code
  switch (code & kPrimary) {
    case SQLITE_OK:
      return;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw EnvironmentError("The database " + name +
                             " is damaged, or is no database: move it away and grade again (the "
                             "submissions are still where they were), or restore a copy of it.");
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw EnvironmentError("The database " + name + " cannot be written (" +
                             ::sqlite3_errstr(code) +
                             "): free some space, then run this again; what was graded is kept.");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw EnvironmentError("Another program is using the database " + name +
                             "; wait for it, then run this again.");
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      throw EnvironmentError("The database " + name +
                             " cannot be opened for writing; check the name and the permissions "
                             "of its folder.");
    default:
      throw EnvironmentError(
          "The database " + name + " answers: " +
          (connection_ ? ::sqlite3_errmsg(connection_.get()) : ::sqlite3_errstr(code)) + ".");
  }
}

int SqliteFile::bind(sqlite3_stmt* statement, int place, double value) {
  return ::sqlite3_bind_double(statement, place, value);
}

int SqliteFile::bind(sqlite3_stmt* statement, int place, std::string_view text) {
  // An empty view may point nowhere, which SQLite would take for NULL.
  const char* data = text.empty() ? "" : text.data();
  return ::sqlite3_bind_text64(statement, place, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

int SqliteFile::bind(sqlite3_stmt* statement, int place, const std::vector<std::uint8_t>& bytes) {
  return ::sqlite3_bind_blob64(statement, place, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

bool SqliteFile::step(const Statement& statement) const {
  const int code = ::sqlite3_step(statement.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
  return code == SQLITE_ROW;
}

Table SqliteFile::table(const Statement& statement) const {
  Table table;
  for (int i = 0; i < ::sqlite3_column_count(statement.get()); ++i) {
    table.heading.emplace_back(::sqlite3_column_name(statement.get(), i));
  }
  while (step(statement)) {
    std::vector<std::string>& row = table.rows.emplace_back(table.heading.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int column = static_cast<int>(i);
      get(statement.get(), column, row[i]);
      if (::sqlite3_column_type(statement.get(), column) != SQLITE_FLOAT) continue;
      row[i] = three_digits(::sqlite3_column_double(statement.get(), column));
    }
  }
  return table;
}

void SqliteFile::get(sqlite3_stmt* statement, int column, double& value) {
  value = ::sqlite3_column_double(statement, column);
}

void SqliteFile::get(sqlite3_stmt* statement, int column, std::string& value) {
  const void* bytes = ::sqlite3_column_blob(statement, column);
  const int size = ::sqlite3_column_bytes(statement, column);
  value.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace convlab::grader
