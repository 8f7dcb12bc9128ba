#pragma once

#include <string>
#include <vector>

#include "grader/class/database.hpp"
#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// The figures of a class: how many have passed over the days, and for each stage and batch that
/// was timed the op times by share of the class, with reference and floor; the speed by attempt;
/// and the best speed so far over the days; the findings that cost most attempts, the hints that
/// helped, and what was predicted. They contain no names.
std::vector<Figure> class_figures(const std::vector<SubmissionRow>& rows,
                                  const std::vector<SpeedRow>& speeds, const StudentNotes& notes);

/// The leaderboard: rank, who, op time, ratio to the reference, attempts; the best attempt of each
/// student counts.
/// @param rows        of one stage and batch
/// @param with_names  names instead of aliases
Table leaderboard(const std::vector<SpeedRow>& rows, bool with_names);

/// The leaderboards of all stages and batches, by precision class, each with its op times beside
/// reference and floor. With aliases: for everybody.
Page leaderboard_page(const std::vector<SpeedRow>& speeds);

/// What a class gets wrong: for each milestone and finding the students who had it, the attempts
/// that it cost each of them, and the day with most of them. Most attempts come first.
Table findings_table(const std::vector<SubmissionRow>& rows);

/// All of it on one page, with tables that sort and filter.
/// @param counting  the attempts that count, see counting() of term.hpp
Page class_dashboard(const std::vector<SubmissionRow>& rows,
                     const std::vector<SubmissionRow>& counting,
                     const std::vector<SpeedRow>& speeds, const StudentNotes& notes,
                     bool with_names);

}  // namespace convlab::grader
