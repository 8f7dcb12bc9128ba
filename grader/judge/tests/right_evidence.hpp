#pragma once

#include <string>

#include "grader/judge/judge.hpp"

namespace convlab::grader::testing {

/// What is known of a stage that is right at every shape, without anything that it was measured by.
inline Evidence right_evidence(const std::string& stage) {
  Evidence evidence{.stage = stage, .demands = {.any_shape = true}};
  while (const auto next = plan(evidence, evidence.demands)) {
    evidence.records.push_back({.experiment = next->experiment,
                                .mode = next->mode,
                                .precision = next->precision,
                                .end = RunEnd::kRight});
  }
  return evidence;
}

}  // namespace convlab::grader::testing
