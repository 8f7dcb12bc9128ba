#pragma once

#include <functional>
#include <optional>
#include <string>

#include "grader/checks/network_check.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// A speed to measure: a stage and its reference at one batch.
struct SpeedRequest {
  StageInfo stage{};
  int batch = 0;
  Submission& program;      ///< the reference solution's
  std::string reference{};  ///< its stage
  int rounds = 1;           ///< at most
  /// Whether more samples would change nothing; asked after each round.
  std::function<bool(const SpeedMeasure&)> is_settled{};
};

/// Times a stage that passed its check and the reference in turns: after each timed (and compared)
/// call of the submission the reference is called with the same numbers.
/// @param network  loaded, with images for the batch
Measured measure_speed(Submission& submission, const SpeedRequest& request,
                       const GradedNetwork& network, const Announce& announce);

/// Fills speed, low and high from the samples: the reference's time over the submission's, each the
/// sum of the convolutions' medians, and the middle 95 % of the ratios of series drawn again from
/// these pairs (percentile bootstrap, the same draws every time). With fewer than six pairs the
/// draws give the standard error of the ratio's logarithm, and Student's t the factor.
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, ch. 12 and 13; Hesterberg, What
/// Teachers Should Know About the Bootstrap, The American Statistician 69 (2015), sec. 4.
/// @param measure  as many samples of yours as of the reference, at least one per convolution
void estimate_speed(SpeedMeasure& measure);

}  // namespace convlab::grader
