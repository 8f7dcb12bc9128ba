#include "grader/class/note_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

namespace {

using Stages = std::map<std::pair<std::string, std::string>, std::vector<PredictionRow>>;

Stages by_stage(const std::vector<PredictionRow>& predictions) {
  Stages stages;
  for (const PredictionRow& row : predictions) stages[{row.milestone, row.stage}].push_back(row);
  return stages;
}

// Of the values that are known.
std::vector<double> values_of(const std::vector<PredictionRow>& rows,
                              double PredictionRow::*field) {
  std::vector<double> values;
  for (const PredictionRow& row : rows) {
    if (row.*field > 0.0) values.push_back(row.*field);
  }
  return values;
}

std::string median_text(const std::vector<double>& values) {
  return values.empty() ? "-" : three_digits(spread_of(values).median);
}

// "7 of 9": predictions at most a factor of two away from what was counted.
std::string near_text(const std::vector<PredictionRow>& rows) {
  int known = 0;
  int near = 0;
  for (const PredictionRow& row : rows) {
    if (!(row.loads > 0.0) || !(row.counted_loads > 0.0)) continue;
    ++known;
    if (std::abs(std::log2(row.loads / row.counted_loads)) <= 1.0) ++near;
  }
  return known == 0 ? "-" : std::to_string(near) + " of " + std::to_string(known);
}

// "memory 5, latency 2": what they expected to limit the stage, most first.
std::string limits_text(const std::vector<PredictionRow>& rows) {
  std::map<std::string, int> counts;
  for (const PredictionRow& row : rows) ++counts[row.limiter];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, int>::second);
  std::string text;
  for (const auto& [limiter, count] : sorted) {
    text += (text.empty() ? "" : ", ") + limiter + " " + std::to_string(count);
  }
  return text;
}

}  // namespace

Table hints_table(const std::vector<HintSum>& hints) {
  Table table{.heading = {"hint", "milestone", "students", "checked after it", "helped", "share"}};
  for (const HintSum& sum : hints) {
    constexpr double kPercent = 100.0;
    table.rows.push_back(
        {sum.name, sum.milestone, std::to_string(sum.students), std::to_string(sum.checked),
         std::to_string(sum.helped),
         sum.checked == 0
             ? "-"
             : std::to_string(std::lround(kPercent * sum.helped / sum.checked)) + " %"});
  }
  return table;
}

Table predictions_table(const std::vector<PredictionRow>& predictions,
                        const std::vector<SpeedRow>& speeds) {
  Table table{.heading = {"stage", "milestone", "students", "what limits it", "loads predicted",
                          "loads counted", "within a factor of 2", "op time predicted, ms",
                          "op time at 1000 images, ms"}};
  constexpr int kBatch = 1000;
  for (const auto& [stage, rows] : by_stage(predictions)) {
    std::vector<double> times;
    for (const SpeedRow& speed : speeds) {
      const bool own = std::ranges::any_of(
          rows, [&](const PredictionRow& row) { return row.student == speed.student; });
      if (own && speed.milestone == rows.front().milestone && speed.stage == rows.front().stage &&
          speed.batch == kBatch) {
        times.push_back(speed.yours_ms);
      }
    }
    table.rows.push_back({stage.second, stage.first, std::to_string(rows.size()), limits_text(rows),
                          median_text(values_of(rows, &PredictionRow::loads)),
                          median_text(values_of(rows, &PredictionRow::counted_loads)),
                          near_text(rows), median_text(values_of(rows, &PredictionRow::op_ms)),
                          median_text(times)});
  }
  return table;
}

}  // namespace convlab::grader
