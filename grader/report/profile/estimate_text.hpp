#pragma once

#include <string>
#include <vector>

#include "grader/measure/estimate.hpp"
#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// For a page or a terminal: GPU, range of op times, what limits it and how much of the estimate
/// that limit alone takes; how far such numbers were off where op times were measured. A star marks
/// a GPU on which ConvLab never measured.
PageSection estimate_section(const std::vector<Estimate>& estimates, const EstimateModel& model,
                             int batch);

}  // namespace convlab::grader
