#pragma once

#include <set>
#include <string>
#include <vector>

#include "grader/checks/result/check_result.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// Linear between the points over log(speed), level outside; two points of one speed are a step.
double share_at(const std::vector<CurvePoint>& curve, double speed);

/// The points for a measured speed.
struct SpeedPoints {
  double least = 0.0;  ///< at the lower end of what noise allows
  double most = 0.0;
  double points = 0.0;      ///< the points that the submission gets
  bool decided = false;     ///< noise changes them by at most the tolerance
  bool no_measure = false;  ///< the bounds are so far apart that the speed says nothing
};

/// By the curve, or all points near the bound. Noise costs no points, within a factor of 3 and up
/// to the speed of the fastest calls; if the bounds are wider, the lower one counts.
SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance);

/// Why nothing is counted of a program without its sources, such as the reference's.
inline constexpr const char* kCountedInSources = "counted only in source files";

/// Whether this rule's speed can be measured after such a check.
bool can_measure(const ScoreRule& rule, const ScoreRules& rules, const CheckResult& check,
                 const ScoreBasis& basis);

/// Whether the stage's counters give points: all of its cases passed.
bool can_count(const ScoreRule& rule, const CheckResult& check);

/// The stages whose counters are to be known.
std::set<std::string> stages_to_count(const ScoreRules& rules, const CheckResult& check);

/// Takes the points of items that need their stage's technique, where that is not shown.
void withhold_without_technique(Score& score);

/// The points by the check's cases, runs and findings, and its basis.
Score make_score(const ScoreRules& rules, const CheckResult& check, const ScoreBasis& basis);

/// Whether a check with this basis measured and counted all that these rules ask for; it may have
/// been made for other rules.
bool has_all_measures(const ScoreRules& rules, const CheckResult& check, const ScoreBasis& basis);

}  // namespace convlab::grader
