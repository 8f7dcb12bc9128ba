#include "grader/class/sqlite.hpp"

#include <utility>

#include "common/base/error.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

SqliteFile::SqliteFile(std::filesystem::path file, bool create) : file_(std::move(file)) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  int code = ::sqlite3_open_v2(file_.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);  // a connection that failed must be closed, too
  if (code != SQLITE_OK) fail(code);
  ::sqlite3_extended_result_codes(connection, 1);
  constexpr int kPatienceMs = 10'000;
  ::sqlite3_busy_timeout(connection, kPatienceMs);
  // A list of everything reads most pages more than once.
  ::sqlite3_exec(connection, "PRAGMA cache_size = -65536", nullptr, nullptr, nullptr);
}

void SqliteFile::run_all(const char* sql) const {
  const int code = ::sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void SqliteFile::fail(int code) const {
  const std::string name = file_.string();
  constexpr int kPrimary = 0xff;  // the low byte of an extended code
  switch (code & kPrimary) {
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
          (handle() == nullptr ? ::sqlite3_errstr(code) : ::sqlite3_errmsg(handle())) + ".");
  }
}

SqliteQuery::SqliteQuery(const SqliteFile& file, const char* sql) : file_(file) {
  sqlite3_stmt* statement = nullptr;
  check(::sqlite3_prepare_v2(file.handle(), sql, -1, &statement, nullptr));
  statement_.reset(statement);
}

void SqliteQuery::check(int code) const {
  if (code != SQLITE_OK) file_.fail(code);
}

void SqliteQuery::bind(int place, double value) {
  check(::sqlite3_bind_double(statement_.get(), place, value));
}

void SqliteQuery::bind(int place, std::string_view text) {
  // An empty view may point nowhere, which SQLite would take for NULL.
  const char* data = text.empty() ? "" : text.data();
  check(::sqlite3_bind_text64(statement_.get(), place, data, text.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
}

void SqliteQuery::bind(int place, const std::vector<std::uint8_t>& bytes) {
  check(
      ::sqlite3_bind_blob64(statement_.get(), place, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
}

bool SqliteQuery::step() {
  const int code = ::sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) file_.fail(code);
  return false;
}

Table SqliteQuery::table() {
  sqlite3_stmt* statement = statement_.get();
  Table table;
  for (int i = 0; i < ::sqlite3_column_count(statement); ++i) {
    table.heading.emplace_back(::sqlite3_column_name(statement, i));
  }
  while (step()) {
    std::vector<std::string>& row = table.rows.emplace_back(table.heading.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int column = static_cast<int>(i);
      get(column, row[i]);
      if (::sqlite3_column_type(statement, column) != SQLITE_FLOAT) continue;
      row[i] = three_digits(::sqlite3_column_double(statement, column));
    }
  }
  return table;
}

void SqliteQuery::get(int column, double& value) const {
  value = ::sqlite3_column_double(statement_.get(), column);
}

void SqliteQuery::get(int column, std::string& value) const {
  const void* bytes = ::sqlite3_column_blob(statement_.get(), column);
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  value.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace convlab::grader
