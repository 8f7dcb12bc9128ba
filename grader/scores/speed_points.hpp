#pragma once

#include <cstddef>

#include "grader/result/score.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// Bounds of a speed that are further apart than this factor are no measurement.
inline constexpr double kWidestBounds = 3.0;

/// The fewest samples per convolution that a decision is founded on.
inline constexpr std::size_t kFewestPairs = 3;

/// What the measured speed is worth.
struct SpeedPoints {
  double least = 0.0;  ///< at the lower end of what noise allows
  double most = 0.0;
  double points = 0.0;      ///< those that are given
  bool decided = false;     ///< noise moves them by no more than the tolerance
  bool no_measure = false;  ///< the bounds are so far apart that the speed says nothing
};

/// By the curve, or all points where the floor is near. Noise costs nobody a point, up to
/// kWidestBounds and to the speed of the fastest calls; beyond those bounds the lower one counts,
/// and a person must look.
SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance);

}  // namespace convlab::grader
