#pragma once

#include <string>
#include <vector>

#include "grader/measure/estimate.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// GPU, range of op times, what limits it and how much of the estimate that limit alone takes.
/// A star marks a GPU on which ConvLab never measured.
Table estimate_table(const std::vector<Estimate>& estimates);

/// What the numbers are, and how far they were off where op times were measured.
std::string estimate_note(const std::vector<Estimate>& estimates, const EstimateModel& model);

/// Both, for a page or a terminal.
PageSection estimate_section(const std::vector<Estimate>& estimates, const EstimateModel& model,
                             int batch);

}  // namespace convlab::grader
