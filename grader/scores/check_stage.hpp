#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grader/checks/network_check.hpp"
#include "grader/scores/grade.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// What the checks of a program's stages share.
struct CheckContext {
  const GradeRequest& request;
  const GradeObserver& observer;
  Submission& submission;
  CheckResult& checked;  ///< gets cases, runs, findings and warnings
};

/// Checks one stage with the requested rules and precision class. False if there is a finding.
bool check_stage(const CheckContext& context, const StageInfo& stage,
                 const std::vector<int>& batches, std::uint64_t seed, GradedNetwork& network);

/// Stores and reports a finding; false if there is one.
bool passes(const CheckContext& context, const StageInfo& stage,
            const std::optional<Finding>& finding);

Rules rules_of(const GradeRequest& request);

/// The element-wise cases of a stage.
CasePlan plan_for(const GradeRequest& request, const StageInfo& stage,
                  const std::vector<int>& batches);

}  // namespace convlab::grader
