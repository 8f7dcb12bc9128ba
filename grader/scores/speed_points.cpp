#include "grader/scores/speed_points.hpp"

#include <algorithm>
#include <cmath>

namespace convlab::grader {

namespace {

double share_of(const SpeedMeasure& measure, const ScoreRule& rule, double speed) {
  const bool is_near = measure.bound_ms && rule.near_bound > 0.0 &&
                       *measure.bound_ms >= rule.near_bound * sum_of_medians(measure.yours_ms);
  return is_near ? 1.0 : share_at(rule.curve, speed);
}

// The speed of the fastest calls. A submission that is slow in some calls on purpose gets wide
// bounds, but no more points than its fastest calls deserve.
double fastest_shown(const SpeedMeasure& measure) {
  double fastest_ms = 0.0;
  for (const std::vector<double>& samples : measure.yours_ms) {
    fastest_ms += *std::ranges::min_element(samples);
  }
  return sum_of_medians(measure.reference_ms) / fastest_ms;
}

}  // namespace

SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance) {
  const double high =
      std::clamp(fastest_shown(measure), measure.speed, std::max(measure.speed, measure.high));
  SpeedPoints result{.least = rule.points * share_of(measure, rule, measure.low),
                     .most = rule.points * share_of(measure, rule, high),
                     .points = std::round(rule.points * share_of(measure, rule, measure.speed)),
                     .decided = false};
  const bool enough = std::all_of(
      measure.yours_ms.begin(), measure.yours_ms.end(),
      [](const std::vector<double>& samples) { return samples.size() >= kFewestPairs; });
  // If every speed gives the same points, a single sample decides.
  const bool level = rule.curve.front().share == rule.curve.back().share;
  // Not "high > …", so that NaN counts as no measurement.
  result.no_measure = !(measure.high <= kWidestBounds * measure.low);
  result.decided =
      (enough || level) && !result.no_measure && result.most - result.least <= tolerance;
  if (!result.decided) result.points = std::ceil(result.no_measure ? result.least : result.most);
  return result;
}

}  // namespace convlab::grader
