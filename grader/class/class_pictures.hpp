#pragma once

#include <string>
#include <vector>

#include "grader/class/database.hpp"
#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// The leaderboard: rank, who, op time, ratio to the reference, attempts; the best attempt of each
/// student counts.
/// @param rows        of one stage and batch
/// @param with_names  names instead of aliases
Table leaderboard(const std::vector<SpeedRow>& rows, bool with_names);

/// The leaderboards of all stages and batches, by precision class, each with its op times beside
/// reference and bound. With aliases: for everybody.
Page leaderboard_page(const std::vector<SpeedRow>& speeds);

/// All of it on one page, with tables that sort and filter: how many have passed over the days;
/// what the class gets wrong, with the attempts that each finding cost; which hints helped; for
/// each stage and batch that was timed a leaderboard, the op times by share of the class, with
/// reference and bound, the speed by attempt, and the best speed so far over the days. Its figures
/// contain no names.
/// @param counting  the attempts that count, see counting() of term.hpp
Page class_dashboard(const std::vector<SubmissionRow>& rows,
                     const std::vector<SubmissionRow>& counting,
                     const std::vector<SpeedRow>& speeds, const ClassTables& tables,
                     bool with_names);

}  // namespace convlab::grader
