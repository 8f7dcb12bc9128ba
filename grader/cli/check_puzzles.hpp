#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "grader/course/course.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/judge/grade.hpp"
#include "grader/report/check_report.hpp"

namespace convlab::grader::check_command {

/// The puzzles that came with a custom submission: how many are solved.
/// @throws UsageError if one is missing
SolvedPuzzles puzzles_in(const CourseMilestone& milestone, const std::filesystem::path& folder,
                         CheckPrinter& printer);

/// Checks the puzzles of a milestone. False if one is unsolved and the milestone itself is still as
/// handed out; a student who has begun with the milestone is only reminded.
/// @param solved_puzzles  gets how many are solved; none if there are no puzzles
bool passes_puzzles(const CourseMilestone& milestone, CheckPrinter& printer,
                    std::optional<SolvedPuzzles>& solved_puzzles);

/// A puzzle; a broken kernel, of which the student names the cause first and then mends the file;
/// or the detective's case: right kernels, of which one is slow. The student names it and the cause
/// from the counters of all of them, then mends it until it moves no more bytes than the others.
/// @param name   as of a stage
/// @param given  the cause: a letter, or "ben-c"; empty if none was named now
/// @return none if it has another name, or needs no cause and one was given
std::optional<ExitCode> check_exercise(const CourseMilestone& milestone, const std::string& name,
                                       const std::string& given, CheckPrinter& printer);

}  // namespace convlab::grader::check_command
