#pragma once

#include <optional>
#include <vector>

#include "grader/class/database.hpp"
#include "grader/report/plots/figure.hpp"

namespace convlab::grader {

/// A row for each hint that was read: by how many students, and how many it helped. Nothing if none
/// was read.
std::optional<Figure> hints_figure(const std::vector<HintRow>& hints);
Table hints_table(const std::vector<HintRow>& hints);

/// A row for each stage that was predicted: the loads for each multiply-add that students expected,
/// and what was counted. Nothing if nothing was predicted.
std::optional<Figure> predictions_figure(const std::vector<PredictionRow>& predictions);
/// The same with limits and op times, beside what was counted and timed.
Table predictions_table(const std::vector<PredictionRow>& predictions,
                        const std::vector<SpeedRow>& speeds);

}  // namespace convlab::grader
