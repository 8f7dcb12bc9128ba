#pragma once

#include <cstddef>

#include "grader/result/score.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// The fewest samples per convolution that a decision is founded on.
inline constexpr std::size_t kFewestPairs = 3;

/// What the measured speed is worth.
struct SpeedPoints {
  double least = 0.0;  ///< at the lower end of what noise allows
  double most = 0.0;
  double points = 0.0;   ///< those that are given
  bool decided = false;  ///< noise moves them by no more than the tolerance
};

/// By the curve, or all points where the floor is near.
SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance);

}  // namespace convlab::grader
