#pragma once

#include <vector>

#include "grader/class/database.hpp"
#include "grader/report/plots/figure.hpp"

namespace convlab::grader {

/// A row for each hint that was read: by how many students, and how many it helped.
Table hints_table(const std::vector<HintSum>& hints);

/// A row for each stage that was predicted: what limits it, the loads for each multiply-add, the op
/// time that students expected, beside what was counted and timed.
Table predictions_table(const std::vector<PredictionRow>& predictions,
                        const std::vector<SpeedRow>& speeds);

}  // namespace convlab::grader
