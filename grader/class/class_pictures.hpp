#pragma once

#include <string>
#include <vector>

#include "grader/class/database.hpp"
#include "grader/pages/page.hpp"

namespace convlab::grader {

/// A chart with the name of its files.
struct ClassPicture {
  std::string stem{};
  Chart chart{};
};

/// The charts of a class: for each stage and batch that was timed the op times by share of the
/// class, with reference and floor; the speed by attempt; the best speed so far over the days; and
/// how many have passed over the days. They contain no names.
std::vector<ClassPicture> class_pictures(const std::vector<SubmissionRow>& rows,
                                         const std::vector<SpeedRow>& speeds);

/// The leaderboard of a stage and batch: rank, who, op time, ratio to the reference, attempts; the
/// best attempt of each student counts.
/// @param with_names  names instead of aliases
Table leaderboard(const std::vector<SpeedRow>& speeds, const std::string& milestone,
                  const std::string& stage, int batch, bool with_names);

/// All of it on one page, with tables that sort and filter.
Page class_dashboard(const std::vector<SubmissionRow>& rows, const std::vector<SpeedRow>& speeds,
                     bool with_names);

}  // namespace convlab::grader
