#pragma once

#include <string>

#include "grader/class/database.hpp"
#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// The leaderboards of all stages and batches, by precision class, each with its op times beside
/// reference and bound: rank, alias, op time, ratio to the reference, attempts. The best attempt of
/// each student counts.
Page leaderboard_page(const ClassDatabase& database);

/// All of it on one page, with tables that sort and filter: how many have passed over the days;
/// what the class gets wrong, with the attempts that each finding cost; which hints helped; the
/// leaderboards. Its figures contain no names.
/// @param milestone   only of this one; empty: of all
/// @param with_names  names instead of aliases
Page class_dashboard(const ClassDatabase& database, const std::string& milestone, bool with_names);

}  // namespace convlab::grader
