#include "grader/class/note_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

namespace {

/// What became of a hint.
struct HintSum {
  std::string milestone{};
  std::string name{};  ///< "E-outside, hint 2"
  int shown = 0;       ///< to how many students
  int checked = 0;     ///< of them checked after it
  int helped = 0;
};

// Those that helped most first.
std::vector<HintSum> sums_of(const std::vector<HintRow>& hints) {
  std::map<std::tuple<std::string, std::string, int>, HintSum> all;
  for (const HintRow& row : hints) {
    HintSum& sum = all[{row.milestone, row.list, row.number}];
    sum.milestone = row.milestone;
    sum.name = row.list + ", hint " + std::to_string(row.number);
    ++sum.shown;
    if (row.helped >= 0) ++sum.checked;
    if (row.helped > 0) ++sum.helped;
  }
  std::vector<HintSum> sums;
  for (auto& [key, sum] : all) sums.push_back(std::move(sum));
  std::ranges::stable_sort(sums, std::greater(), &HintSum::helped);
  return sums;
}

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

// The median and the middle half, which the bar of the row comes to span.
void add_spread(Panel& panel, Axis& axis, const std::string& label, Mark& bar,
                const std::vector<double>& values) {
  if (values.empty()) return;
  const Spread spread = spread_of(values);
  axis.include(spread.lower_quartile);
  axis.include(spread.upper_quartile);
  bar.low = std::min(bar.low, spread.median);
  bar.value = std::max(bar.value, spread.median);
  bar.high = std::max(bar.high, spread.upper_quartile);
  series_of(panel, label)
      .marks.push_back({bar.at, spread.median, spread.lower_quartile, spread.upper_quartile});
}

}  // namespace

std::optional<Figure> hints_figure(const std::vector<HintRow>& hints) {
  Figure figure{.name = "hints",
                .title = "Which hint helped",
                .x = {.title = "students"},
                .y = {.title = "hint"},
                .panels = std::vector<Panel>(1)};
  figure.x.include(1.0);
  constexpr std::size_t kMost = 24;
  for (const HintSum& sum : sums_of(hints)) {
    if (figure.rows.size() == kMost) break;
    const auto row = static_cast<double>(figure.rows.size());
    const double shown = sum.shown;
    const double helped = sum.helped;
    figure.rows.push_back(sum.milestone + " " + sum.name);
    figure.x.include(1.05 * shown);
    Panel& panel = figure.panels[0];
    series_of(panel, "read it").marks.push_back({row, shown, shown, shown});
    // The axis is logarithmic.
    if (sum.helped > 0) {
      series_of(panel, "it helped").marks.push_back({row, helped, helped, helped});
    }
    panel.bars.push_back({row, shown, std::max(1.0, helped), shown,
                          sum.checked == 0 ? "no check yet"
                                           : "helped " + std::to_string(sum.helped) + " of " +
                                                 std::to_string(sum.checked)});
  }
  return figure.rows.empty() ? std::nullopt : std::optional(figure);
}

Table hints_table(const std::vector<HintRow>& hints) {
  Table table{.heading = {"hint", "milestone", "students", "checked after it", "helped", "share"}};
  for (const HintSum& sum : sums_of(hints)) {
    constexpr double kPercent = 100.0;
    table.rows.push_back(
        {sum.name, sum.milestone, std::to_string(sum.shown), std::to_string(sum.checked),
         std::to_string(sum.helped),
         sum.checked == 0
             ? "-"
             : std::to_string(std::lround(kPercent * sum.helped / sum.checked)) + " %"});
  }
  return table;
}

std::optional<Figure> predictions_figure(const std::vector<PredictionRow>& predictions) {
  Figure figure{.name = "predictions",
                .title = "Loads for each multiply-add: predicted and counted",
                .x = {.title = "loads for each multiply-add (median, middle half)"},
                .y = {.title = "stage"},
                .panels = std::vector<Panel>(1)};
  for (const auto& [stage, rows] : by_stage(predictions)) {
    const auto predicted = values_of(rows, &PredictionRow::loads);
    if (predicted.empty()) continue;
    Mark bar{.at = static_cast<double>(figure.rows.size()), .low = HUGE_VAL};
    if (const std::string near = near_text(rows); near != "-") bar.text = near + " within 2×";
    figure.rows.push_back(stage.first + " " + stage.second);
    Panel& panel = figure.panels[0];
    add_spread(panel, figure.x, "predicted", bar, predicted);
    add_spread(panel, figure.x, "counted", bar, values_of(rows, &PredictionRow::counted_loads));
    panel.bars.push_back(bar);
  }
  if (figure.rows.empty()) return std::nullopt;
  figure.x.low /= 1.2;
  figure.x.high *= 1.2;
  return figure;
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
