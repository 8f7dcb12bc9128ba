#pragma once

#include <cstddef>

#include "grader/checks/result/score.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// Bounds of a speed that are further apart than this factor are no measurement.
inline constexpr double kWidestBounds = 3.0;

/// The smallest number of samples per convolution for a decision.
inline constexpr std::size_t kFewestPairs = 3;

/// The points for a measured speed.
struct SpeedPoints {
  double least = 0.0;  ///< at the lower end of what noise allows
  double most = 0.0;
  double points = 0.0;      ///< the points that the submission gets
  bool decided = false;     ///< noise changes them by at most the tolerance
  bool no_measure = false;  ///< the bounds are so far apart that the speed says nothing
};

/// By the curve, or all points near the bound. Noise costs no points, within kWidestBounds and up
/// to the speed of the fastest calls. If the bounds are wider, the lower one counts, and a person
/// must look.
SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance);

}  // namespace convlab::grader
