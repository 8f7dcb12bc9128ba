#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include "common/error/error.hpp"
#include "grader/class/launcher.hpp"

namespace convlab::grader {

struct ClassRequest {
  std::filesystem::path folder{};    ///< of the submissions
  std::filesystem::path database{};  ///< beside it lies DATABASE.work while something is graded
  std::filesystem::path roster{};    ///< empty: names come from the files
  std::string milestone{};           ///< empty: what each submission holds
  TaskSettings settings{};
  bool times_alone = true;  ///< times after all else, one submission after the other
  Launcher launcher{};
};

/// Grades what lies in the folder and is not graded yet, and keeps every outcome in the database as
/// soon as it is there. Prints a line for each submission. What is wrong with one submission stops
/// no other.
/// @param interrupted  ends it once it is not 0; what was graded is kept
/// @return kPassed if everything is graded, kEnvironment if the machine was at fault for some,
///   kInterrupted
ExitCode grade_class(const ClassRequest& request, const volatile std::sig_atomic_t& interrupted);

/// "alice   m1  75 of 75 points" and, where there is one, the sentence.
std::string row_text(const SubmissionRow& row, int name_width, bool with_attempt);

}  // namespace convlab::grader
