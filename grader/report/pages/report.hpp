#pragma once

#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/pages/sweep.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// The times of results, in milliseconds, and the times of sweeps by their parameters.
std::vector<KnownNumber> known_numbers(const std::vector<Result>& results,
                                       const std::vector<SweepTable>& sweeps);

/// Which numbers of a text are known, to the digits that it gives: "14.1: the op time of …". It
/// reads "11 832" as one number, and "15.2 s" as milliseconds, too. Empty if none is known.
std::string found_numbers(const std::string& text, const std::vector<KnownNumber>& known);

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
