#pragma once

#include "grader/checks/result/score.hpp"

namespace convlab::grader {

/// Fills speed, low and high from the samples: the reference's time over the submission's, each the
/// sum of the convolutions' medians. Low and high bound the middle 95 % of the ratios of series
/// drawn again from these pairs (percentile bootstrap, the same draws every time). With fewer than
/// six pairs the bounds are wider: the draws give the standard error of the ratio's logarithm,
/// corrected for its bias, and Student's t gives the factor.
///
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, ch. 12 and 13; Hesterberg, What
/// Teachers Should Know About the Bootstrap, The American Statistician 69 (2015), sec. 4.
/// @param measure  as many samples of yours as of the reference, at least one per convolution
void estimate_speed(SpeedMeasure& measure);

}  // namespace convlab::grader
