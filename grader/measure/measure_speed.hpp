#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "grader/checks/network_check.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Called after each sample with the arrays of its call.
using InTurns = std::function<void(const CheckedLayer& layer, const Arrays& arrays)>;

/// Times each convolution of a run that was right with further calls (docs/grading.md, "The
/// clock"), in a random order: none can be prepared for. Each call has new random images, which
/// appear when prolog has returned, and the output of the call before; a random part of the output
/// is compared in double precision. A finding ends it. An emulated device has no times.
/// @param run  gets the samples, and the finding
void time_network(Submission& submission, NetworkOutcome& run, const Announce& announce,
                  const InTurns& in_turns = {});

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

/// Looks whether the GPU is quiet before a check loads it; if so, nothing waits for that later.
void look_at_gpu();

/// Waits, two minutes at most, until the GPU is idle and no longer slowed down by heat, as
/// `nvidia-smi` reports it, and announces what it waits for. Only the first call of a process
/// waits, and on a machine without `nvidia-smi` none.
void wait_for_quiet_gpu(const Announce& announce);

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
