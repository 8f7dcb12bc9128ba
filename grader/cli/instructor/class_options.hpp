#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "common/base/error.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

/// What a command line of `grader class` may say; each command takes some of it.
struct ClassOptions {
  std::string database;
  ClassRequest request{.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  std::string launcher = "local";
  bool no_speed = false;
  bool list = false;
  std::string name;
  std::string format = "csv";
  std::string output;
  bool names = false;
  double least = 0.5;
  std::string term_file;
  int attempt = 0;
  std::string finding;
  std::string place;
  std::string text;
  std::string evidence;
  std::int64_t removed = 0;
  bool undo = false;
  bool for_staff = false;

  /// The file of the class: the one named, or the usual one.
  [[nodiscard]] std::filesystem::path file() const {
    return database.empty() ? (build_folder() / "class") / "class.db"
                            : std::filesystem::path(database);
  }
  [[nodiscard]] std::filesystem::path output_or(const char* usual) const {
    return output.empty() ? (build_folder() / "class") / usual : std::filesystem::path(output);
  }
};

inline ClassDatabase open_database(const ClassOptions& options) {
  return {options.file(), ClassDatabase::Access::kRead};
}

// What a term brings beside grading: its rules, submissions that no longer count, comments.
namespace term_commands {
ExitCode set_term(const ClassOptions& options);
ExitCode revoke(const ClassOptions& options);
ExitCode comment(const ClassOptions& options);
ExitCode feedback(const ClassOptions& options);
}  // namespace term_commands

}  // namespace convlab::grader
