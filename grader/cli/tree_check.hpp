#pragma once

#include "common/base/error.hpp"
#include "grader/cli/commands.hpp"

namespace convlab::grader {

/// What `grader check` may be told.
struct CheckOptions {
  std::string milestone, stage, cause, batches, rules, precision, puzzles, json, times_of,
      only_case;
  std::string network = kDefaultPreset, solution = "student", format = "text", mend = "auto";
  std::string launcher = "local";
  std::string program;  ///< for tests: another executable
  std::string shown;    ///< how --solution is called in texts; empty: as it was given
  std::vector<std::string> libraries, refused;
  std::uint64_t seed = 0;
  double time_limit_s = 0.0;
  bool no_speed = false;
  bool competition = false;
};

/// Checks a whole tree of the course, or an archive of one: each file as the task of its edition
/// that it was handed in for.
/// @param options  --solution is the folder or archive; the milestone may be an edition, one of its
///                 tasks, a milestone of the course, or empty: all tasks. --json is a folder here.
/// @param check    one file, whose milestone is then the task's id
/// @return what the worst of them ends with; none if it is no tree of the course
/// @throws UsageError if two files are as likely for one task
std::optional<ExitCode> check_tree(const CheckOptions& options,
                                   ExitCode (*check)(const CheckOptions&));

}  // namespace convlab::grader
