#pragma once

#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/pages/sweep.hpp"

namespace convlab::grader {

/// The contents of a report.
struct ReportSource {
  std::string milestone{};  ///< "m4"
  std::string title{};      ///< of the milestone
  std::vector<Result> results{};
  std::vector<std::string> names{};  ///< of their files
  std::vector<MendedMistake> mistakes{};
  std::vector<SweepTable> sweeps{};
  std::vector<PageSection> notes{};  ///< what the student predicted and answered
};

/// The skeleton of a report: all numbers, tables and charts that the results hold, and every
/// question that needs prose, left open.
Page make_report(const ReportSource& source);

}  // namespace convlab::grader
