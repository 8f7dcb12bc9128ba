#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/result/score.hpp"
#include "grader/checks/check.hpp"
#include "grader/checks/network_check.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// What measuring a speed led to: a measure, a finding of the submission, or neither and why.
struct SpeedOutcome {
  std::string stage{};
  int batch = 0;
  std::optional<SpeedMeasure> measure{};
  std::vector<Finding> findings{};
  std::string why_not{};
};

/// Times the stage of `rule` and its reference in turns: after each timed (and compared) call of
/// the submission the reference is called with the same numbers. Repeats the whole while noise
/// decides the points, at most rules.rounds times.
///
/// @param request    the check that passed: program, network, time limit
/// @param reference  the reference solution's program
SpeedOutcome measure_speed(const CheckRequest& request, const ScoreRule& rule,
                           const ScoreRules& rules, const std::filesystem::path& reference,
                           const Announce& announce);

}  // namespace convlab::grader
