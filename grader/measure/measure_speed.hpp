#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "grader/checks/network_check.hpp"
#include "grader/checks/result/score.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// A speed to measure: a stage and its reference at one batch.
struct SpeedRequest {
  StageInfo stage{};
  int batch = 0;
  std::filesystem::path program{};  ///< the reference solution's
  std::string reference{};          ///< its stage
  int rounds = 1;                   ///< at most
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
SpeedOutcome measure_speed(Submission& submission, const SpeedRequest& request,
                           const GradedNetwork& network, const Announce& announce);

}  // namespace convlab::grader
