#pragma once

#include <string>

#include "grader/class/database.hpp"
#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// The leaderboards of all stages and batches, by precision class: rank, alias, op time, ratio to
/// the reference, attempts, op time of the reference, bound, and a chart of these times. The best
/// attempt of each student counts.
Page leaderboard_page(const ClassDatabase& database);

/// All of it on one page, in charts and in tables that sort and filter: how many have passed by
/// each day; what the class gets wrong, with the attempts that each finding cost; which hints
/// helped; the leaderboards; all submissions.
/// @param milestone   only of this one; empty: of all
/// @param with_names  names instead of aliases
Page class_dashboard(const ClassDatabase& database, const std::string& milestone, bool with_names);

}  // namespace convlab::grader
