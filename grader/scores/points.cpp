#include "grader/scores/points.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "common/base/text.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

double share_at(const std::vector<CurvePoint>& curve, double speed) {
  if (!(speed >= curve.front().speed)) return curve.front().share;
  for (std::size_t i = curve.size(); i-- > 1;) {
    const CurvePoint& below = curve[i - 1];
    const CurvePoint& above = curve[i];
    if (speed >= above.speed) return above.share;
    if (speed < below.speed) continue;
    const double way = std::log(speed / below.speed) / std::log(above.speed / below.speed);
    return std::lerp(below.share, above.share, way);
  }
  return curve.front().share;
}

namespace {

constexpr double kWidestBounds = 3.0;    // further apart they are no measurement
constexpr std::size_t kFewestPairs = 3;  // samples of each convolution, for a decision

double share_of(const SpeedMeasure& measure, const ScoreRule& rule, double speed) {
  const bool is_near = measure.bound_ms && rule.near_bound > 0.0 &&
                       *measure.bound_ms >= rule.near_bound * sum_of_medians(measure.yours_ms);
  return is_near ? 1.0 : share_at(rule.curve, speed);
}

// The speed of the fastest calls. A submission that is slow in some calls on purpose gets wide
// bounds, but no more points than its fastest calls deserve.
double fastest_shown(const SpeedMeasure& measure) {
  double fastest_ms = 0.0;
  for (const std::vector<double>& samples : measure.yours_ms) {
    fastest_ms += *std::ranges::min_element(samples);
  }
  return sum_of_medians(measure.reference_ms) / fastest_ms;
}

}  // namespace

SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance) {
  const double high =
      std::clamp(fastest_shown(measure), measure.speed, std::max(measure.speed, measure.high));
  SpeedPoints result{.least = rule.points * share_of(measure, rule, measure.low),
                     .most = rule.points * share_of(measure, rule, high),
                     .points = std::round(rule.points * share_of(measure, rule, measure.speed)),
                     .decided = false};
  const bool enough = std::all_of(
      measure.yours_ms.begin(), measure.yours_ms.end(),
      [](const std::vector<double>& samples) { return samples.size() >= kFewestPairs; });
  // If every speed gives the same points, a single sample decides.
  const bool level = rule.curve.front().share == rule.curve.back().share;
  // Not "high > …", so that NaN counts as no measurement.
  result.no_measure = !(measure.high <= kWidestBounds * measure.low);
  result.decided =
      (enough || level) && !result.no_measure && result.most - result.least <= tolerance;
  if (!result.decided) result.points = std::ceil(result.no_measure ? result.least : result.most);
  return result;
}

namespace {

/// The result's data about one stage.
struct StageRecord {
  std::size_t cases = 0;
  std::size_t passed_cases = 0;
  bool gave_output = false;
  std::string failed_case{};
};

StageRecord record_of(const CheckResult& check, const std::string& stage) {
  StageRecord record;
  for (const CaseResult& test : check.cases) {
    if (test.stage != stage) continue;
    ++record.cases;
    record.gave_output = record.gave_output || test.error.compared > 0;
    if (test.verdict == Verdict::kPassed) {
      ++record.passed_cases;
    } else {
      record.failed_case = test.name;
    }
  }
  return record;
}

const RunResult* run_of(const Result& result, const std::string& stage, int batch) {
  for (const RunResult& run : result.runs) {
    if (run.stage.id == stage && run.batch == batch) return &run;
  }
  return nullptr;
}

// Why a stage has not all points: its finding.
std::string reason_of(const CheckResult& check, const std::string& stage) {
  for (const Finding& finding : check.findings) {
    if (finding.stage == stage || finding.stage.empty()) return finding.id;
  }
  const bool is_known = std::ranges::count(check.cases, stage, &CaseResult::stage) > 0;
  return is_known ? "" : "no such stage was checked";
}

std::string count_text(std::size_t some, std::size_t all) {
  return std::to_string(some) + " of " + std::to_string(all);
}

// No rule and no result gives more than an item has.
void give(ScoreItem& item, double earned, const std::string& why) {
  item.earned = std::clamp(std::isfinite(earned) ? earned : 0.0, 0.0, item.points);
  item.credit = item.earned == item.points ? Credit::kEarned : Credit::kPartial;
  if (item.credit == Credit::kPartial || item.item == "speed") item.why = why;
}

// A share of the points, for some of all.
void give_share(ScoreItem& item, std::size_t some, std::size_t all, const std::string& why) {
  item.yours = count_text(some, all);
  item.reference = std::to_string(all);
  give(item, item.points * static_cast<double>(some) / static_cast<double>(all), why);
}

void leave_out(ScoreItem& item, const std::string& why) {
  item.credit = Credit::kNotMeasured;
  item.why = why;
}

void score_network(ScoreItem& item, const RunResult* run, const std::string& id) {
  if (run != nullptr && run->accuracy) {
    const std::string total = "/" + std::to_string(run->accuracy->total);
    item.yours = std::to_string(run->accuracy->correct) + total;
    if (run->accuracy->expected) {
      item.reference = std::to_string(*run->accuracy->expected) + total;
    }
  }
  const bool passed = run != nullptr && run->verdict == Verdict::kPassed;
  give(item, passed ? item.points : 0.0, run == nullptr ? "not reached" : id);
}

void score_speed(ScoreItem& item, const ScoreRule& rule, const ScoreRules& rules,
                 const SpeedMeasure& measure) {
  item.speed = measure;
  item.yours = three_digits(sum_of_medians(measure.yours_ms)) + " ms";
  item.reference = three_digits(sum_of_medians(measure.reference_ms)) + " ms";
  const SpeedPoints points = points_for(measure, rule, rules.tolerance);
  give(item, points.points,
       "speed " + three_digits(measure.speed) + " (" + three_digits(measure.low) + " to " +
           three_digits(measure.high) + ")");
  if (points.decided) return;
  item.credit = Credit::kUndecided;
  const std::string rounds = count_of(measure.rounds, "round");
  item.why += points.no_measure ? "; that is no measurement, after " + rounds +
                                      ": the lower bound counts, measure again on a quiet machine"
                                : "; noise decides after " + rounds + ", in your favour";
}

// What a rule for a speed, counters or a technique rests on; null if it is missing.
const Measured* measured_for(const ScoreRule& rule, const ScoreBasis& basis) {
  const auto found = std::ranges::find_if(basis.measured, [&](const Measured& each) {
    return each.stage == rule.stage && each.batch == rule.batch;
  });
  return found == basis.measured.end() ? nullptr : &*found;
}

void score_measured(ScoreItem& item, const ScoreRule& rule, const ScoreRules& rules,
                    const Measured* found) {
  if (found == nullptr || !found->why_not.empty()) {
    const std::string why = found == nullptr ? "not measured" : found->why_not;
    // What cannot be counted has not been shown.
    const bool is_open = !rule.is_of_counters() || why == kCountedInSources;
    is_open ? leave_out(item, why) : give(item, 0.0, why);
  } else if (found->finding) {
    give(item, 0.0, "when it was measured: " + found->finding->id);
  } else if (found->speed) {
    score_speed(item, rule, rules, *found->speed);
  } else {
    const KeptLimits kept = kept_limits(rule.limits, found->counters);
    give_share(item, kept.number, rule.limits.size(), kept.missed);
  }
}

constexpr const char* kShown = "shown";
constexpr const char* kOnlyRight = "only right results are counted";

// @param is_right  wrong outputs do not tell which numbers they are made of
void score_technique(ScoreItem& item, const ScoreRule& rule, const std::string& reason,
                     const Measured* counted, bool is_right) {
  if (counted != nullptr && counted->why_not == kCountedInSources)
    return leave_out(item, kCountedInSources);
  if (counted == nullptr) {  // the stage has given no output
    item.why = reason;
  } else if (!counted->counters.empty()) {
    item.why = kept_limits(rule.limits, counted->counters).missed;
  } else {
    item.why = counted->finding ? "when it was counted: " + counted->finding->id : counted->why_not;
  }
  const bool is_shown = counted != nullptr && item.why.empty();
  item.reference = kShown;
  item.lacks_technique = counted != nullptr && !is_shown;
  if (counted != nullptr) item.yours = is_shown ? kShown : "not shown";
  if (item.lacks_technique && !counted->counters.empty() && !is_right) {
    item.yours = "not counted";
    item.why = kOnlyRight;
  }
  item.earned = is_shown ? item.points : 0.0;
  item.credit = is_shown ? Credit::kEarned : Credit::kPartial;
}

// Why this item is not part of the requested check; empty if it is.
std::string not_asked(const ScoreRule& rule, const ScoreRules& rules, const ScoreBasis& basis) {
  if (rule.what == ScoreRule::What::kSpeed && basis.emulated) return "not measured without a GPU";
  if (basis.only_stage && *basis.only_stage != rule.stage) return "another --stage was asked";
  // What runs there calls no library of a GPU.
  if (basis.emulated && std::ranges::count(rules.only_gpu, rule.stage) > 0)
    return "gives points only on a GPU";
  if (rule.batch == 0) return {};
  if (basis.network != rules.network) return "only network " + rules.network + " counts";
  const bool asked = std::ranges::find(basis.batches, rule.batch) != basis.batches.end();
  return asked ? "" : "batch not checked";
}

void score(ScoreItem& item, const ScoreRule& rule, const ScoreRules& rules,
           const CheckResult& check, const ScoreBasis& basis) {
  const StageRecord stage = record_of(check, rule.stage);
  const std::string reason = reason_of(check, rule.stage);
  switch (rule.what) {
    case ScoreRule::What::kRuns:
      item.yours = stage.gave_output ? "yes" : "no";
      return give(item, stage.gave_output ? item.points : 0.0, reason);
    case ScoreRule::What::kPuzzles:
      if (!basis.puzzles || basis.puzzles->all == 0) {
        return leave_out(item, "the puzzles were not part of this check");
      }
      return give_share(item, static_cast<std::size_t>(basis.puzzles->solved),
                        static_cast<std::size_t>(basis.puzzles->all),
                        "the others wait in puzzles/");
    case ScoreRule::What::kPrediction: {
      if (!basis.predicted) return leave_out(item, "the predictions were not part of this check");
      const bool made = basis.predicted->contains(item.stage);
      item.yours = made ? "yes" : "no";
      return give(item, made ? item.points : 0.0, "grader predict, before the first measurement");
    }
    case ScoreRule::What::kCases: {
      const auto own = basis.cases_of.find(rule.stage);
      const std::string why = reason + (stage.gave_output ? " in '" + stage.failed_case + "'" : "");
      give_share(item, stage.passed_cases,
                 own == basis.cases_of.end() ? basis.cases_in_all : own->second, why);
      return give(item, std::floor(item.earned), why);
    }
    case ScoreRule::What::kNetwork:
      return score_network(item, run_of(check.result, rule.stage, rule.batch), reason);
    case ScoreRule::What::kSpeed:
      if (can_measure(rule, rules, check, basis))
        return score_measured(item, rule, rules, measured_for(rule, basis));
      return give(item, 0.0, "only right results are timed");
    case ScoreRule::What::kCounters:
      if (can_count(rule, check))
        return score_measured(item, rule, rules, measured_for(rule, basis));
      return give(item, 0.0, kOnlyRight);
    case ScoreRule::What::kTechnique:
      return score_technique(item, rule, reason, measured_for(rule, basis), can_count(rule, check));
  }
}

bool needs_technique(const ScoreItem& item) {
  return item.item == "cases" || item.item == "network" || item.item == "speed" ||
         item.item == "counters";
}

}  // namespace

bool can_measure(const ScoreRule& rule, const ScoreRules& rules, const CheckResult& check,
                 const ScoreBasis& basis) {
  const RunResult* const run = run_of(check.result, rule.stage, rule.batch);
  return not_asked(rule, rules, basis).empty() && run != nullptr &&
         run->verdict == Verdict::kPassed;
}

bool can_count(const ScoreRule& rule, const CheckResult& check) {
  const StageRecord stage = record_of(check, rule.stage);
  return stage.cases > 0 && stage.passed_cases == stage.cases;
}

std::set<std::string> stages_to_count(const ScoreRules& rules, const CheckResult& check) {
  std::set<std::string> stages;
  for (const ScoreRule& rule : rules.items) {
    const bool technique =
        rule.what == ScoreRule::What::kTechnique && record_of(check, rule.stage).gave_output;
    const bool counters = rule.what == ScoreRule::What::kCounters && can_count(rule, check);
    if (technique || counters) stages.insert(rule.stage);
  }
  return stages;
}

void withhold_without_technique(Score& score) {
  for (const ScoreItem& technique : score.items) {
    if (!technique.lacks_technique) continue;
    for (ScoreItem& item : score.items) {
      if (item.stage != technique.stage || !needs_technique(item) || item.earned == 0.0) continue;
      give(item, 0.0, std::string("the stage's technique is ") + technique.yours);
    }
  }
}

Score make_score(const ScoreRules& rules, const CheckResult& check, const ScoreBasis& basis) {
  Score made{.items = {}, .choice = rules.choice};
  for (const ScoreRule& rule : rules.items) {
    ScoreItem& item = made.items.emplace_back(ScoreItem{.stage = rule.stage,
                                                        .item = to_string(rule.what),
                                                        .batch = rule.batch,
                                                        .points = rule.points});
    const std::string why = not_asked(rule, rules, basis);
    why.empty() ? score(item, rule, rules, check, basis) : leave_out(item, why);
  }
  withhold_without_technique(made);
  return made;
}

bool has_all_measures(const ScoreRules& rules, const CheckResult& check, const ScoreBasis& basis) {
  const std::set<std::string> counted = stages_to_count(rules, check);
  return std::ranges::all_of(rules.items, [&](const ScoreRule& rule) {
    const bool is_timed = rule.what == ScoreRule::What::kSpeed;
    if (is_timed ? !can_measure(rule, rules, check, basis)
                 : !rule.is_of_counters() || !counted.contains(rule.stage)) {
      return true;
    }
    const Measured* const found = measured_for(rule, basis);
    if (found == nullptr) return false;
    if (found->speed && found->speed->reference != rule.reference) return false;
    // A part is known only if the rules of that check asked for it.
    return std::ranges::all_of(parts_asked(rule.limits), [&](const std::string& part) {
      return found->counters.empty() || found->counters.contains(part);
    });
  });
}

}  // namespace convlab::grader
