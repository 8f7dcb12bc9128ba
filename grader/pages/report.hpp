#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/pages/page.hpp"
#include "grader/result/check_history.hpp"
#include "grader/sweep/sweep_report.hpp"

namespace convlab::grader {

/// The contents of a report.
struct ReportSource {
  std::string milestone{};  ///< "m4"
  std::string title{};      ///< of the milestone
  std::vector<Result> results{};
  std::vector<std::string> names{};  ///< of their files
  std::vector<MendedMistake> mistakes{};
  std::map<std::string, std::string> profiles{};  ///< by stage: what --profile printed
  std::vector<SweepTables> sweeps{};
  std::map<std::string, std::vector<std::string>> questions{};  ///< by stage, from docs/ladder
  std::vector<PageBlock> images{};  ///< of the chosen image; see image_maps.hpp
  std::string pictures{};           ///< folder of the plots beside the page; may be empty
};

/// The skeleton of a report: all numbers, tables and charts that the results hold, and every
/// question that needs prose, left open.
Page make_report(const ReportSource& source);

/// The questions of a page of docs/ladder: the summaries below "## Questions".
std::vector<std::string> questions_of(const std::string& ladder_page);

}  // namespace convlab::grader
