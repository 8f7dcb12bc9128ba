#include "grader/class/sqlite.hpp"

#include <sqlite3.h>

#include "common/base/error.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

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
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw EnvironmentError("Another program is using the database " + file.string() +
                             "; wait for it, then run this again.");
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      throw EnvironmentError(name +
                             " cannot be opened for writing; check the name and the permissions "
                             "of its folder.");
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

}  // namespace convlab::grader
