#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include "common/base/error.hpp"
#include "grader/class/launcher.hpp"

namespace convlab::grader {

/// Which submissions are graded although they are graded already.
enum class Again { kNone, kAll, kChangedRules };

struct ClassRequest {
  std::filesystem::path folder{};    ///< of the submissions
  std::filesystem::path database{};  ///< DATABASE.work lies beside it during grading
  std::filesystem::path roster{};    ///< empty: names come from the files
  std::string milestone{};           ///< empty: those that each submission contains
  TaskSettings settings{};
  bool times_alone = true;  ///< times last, one submission after the other
  Launcher launcher{};
  /// kChangedRules: those whose scores.json or grader was another one.
  Again again = Again::kNone;
  std::filesystem::path leaderboard{};  ///< a page that every outcome rewrites; empty: none
  bool allow_lower = false;  ///< a new outcome may give fewer points than the one it replaces
};

/// Grades the submissions in the folder that are not graded yet, and stores every outcome in the
/// database at once. Prints a line for each submission. A fault of one submission does not stop the
/// others.
/// @param interrupted  ends it once it is not 0; what was graded is kept
/// @return kPassed if everything is graded, kFallsShort if outcomes with fewer points were not
/// stored,
///   kEnvironment if the machine was at fault for some,
///   kInterrupted
ExitCode grade_class(const ClassRequest& request, const volatile std::sig_atomic_t& interrupted);

/// What the points of a milestone depend on beside the submission: the digest of its scores.json
/// and the commit of the grader.
std::string rules_of(const std::string& milestone);

/// "alice m1 75 of 75 points" and the sentence, if there is one.
std::string row_text(const SubmissionRow& row, int name_width, bool with_attempt);

}  // namespace convlab::grader
