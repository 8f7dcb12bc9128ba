#include "grader/scores/speed_points.hpp"

#include <algorithm>
#include <cmath>

namespace convlab::grader {

namespace {

double share_of(const SpeedMeasure& measure, const ScoreRule& rule, double speed) {
  const bool is_near = measure.floor_ms && rule.near_floor > 0.0 &&
                       *measure.floor_ms >= rule.near_floor * sum_of_medians(measure.yours_ms);
  return is_near ? 1.0 : share_at(rule.curve, speed);
}

}  // namespace

SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance) {
  SpeedPoints result{.least = rule.points * share_of(measure, rule, measure.low),
                     .most = rule.points * share_of(measure, rule, measure.high),
                     .points = std::round(rule.points * share_of(measure, rule, measure.speed)),
                     .decided = false};
  const bool enough = std::all_of(
      measure.yours_ms.begin(), measure.yours_ms.end(),
      [](const std::vector<double>& samples) { return samples.size() >= kFewestPairs; });
  // Where every speed gives the same, a single sample decides.
  const bool level = rule.curve.front().share == rule.curve.back().share;
  // Not "high > …": whatever is no number is no measurement.
  result.no_measure = !(measure.high <= kWidestBounds * measure.low);
  result.decided =
      (enough || level) && !result.no_measure && result.most - result.least <= tolerance;
  if (!result.decided) result.points = std::ceil(result.no_measure ? result.least : result.most);
  return result;
}

}  // namespace convlab::grader
