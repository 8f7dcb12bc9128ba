#pragma once

#include "common/base/error.hpp"
#include "grader/cli/commands.hpp"

namespace convlab::grader {

/// Checks a whole tree of the course, or an archive of one: each file as the task of its edition
/// that it was handed in for.
/// @param options  --solution is the folder or archive; the milestone may be an edition, one of its
///                 tasks, a milestone of the course, or empty: all tasks. --json is a folder here.
/// @param check    one file, whose milestone is then the task's id
/// @return what the worst of them ends with; none if it is no tree of the course
/// @throws UsageError if two files are as likely for one task
std::optional<ExitCode> check_tree(const Options& options, ExitCode (*check)(const Options&));

}  // namespace convlab::grader
