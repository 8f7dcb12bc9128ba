#include "grader/scores/points.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/program/arguments.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/measure/counters.hpp"

namespace convlab::grader {

namespace {

constexpr const char* kSchema = "convlab-scores-1";
constexpr double kMostPoints = 1000.0;
constexpr double kMostSpeed = 1e6;
constexpr double kMostCounter = 1e6;
constexpr int kMostRounds = 20;

/// Thrown while reading; parse_score_rules adds the file's name.
struct RuleProblem {
  std::string what;
};

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw RuleProblem{otherwise};
}

// Refuses unknown keys: a misspelt "ponits" must not silently give none.
void check_keys(const Json& object, const std::set<std::string>& known) {
  std::string list;
  for (const std::string& key : known) list += (list.empty() ? "" : ", ") + key;
  for (const auto& [key, value] : object.items()) {
    require(known.contains(key), "has an unknown key '" + key + "'; known are " + list);
  }
}

double read_number(const Json& object, const char* key, double low, double high) {
  const double number = object.at(key);
  require(number >= low && number <= high, std::string("needs a number from ") + json_text(low) +
                                               " to " + json_text(high) + " for '" + key +
                                               "', not " + json_text(number));
  return number;
}

int read_int(const Json& object, const char* key, int high) {
  const double number = read_number(object, key, 1, high);
  require(number == std::floor(number), std::string("needs a whole number for '") + key + "'");
  return static_cast<int>(number);
}

// A list that has something in it.
const Json& read_list(const Json& object, const char* key) {
  const Json& list = object.at(key);
  require(list.is_array() && !list.empty(), std::string("needs a list of '") + key + "'");
  return list;
}

std::vector<CurvePoint> read_curve(const Json& object) {
  std::vector<CurvePoint> curve;
  for (const Json& point : read_list(object, "curve")) {
    check_keys(point, {"speed", "share"});
    const CurvePoint next{read_number(point, "speed", 0.0, kMostSpeed),
                          read_number(point, "share", 0.0, 1.0)};
    require(next.speed > 0.0, "has a curve with speed 0, which no program has");
    require(curve.empty() || (next.speed >= curve.back().speed && next.share >= curve.back().share),
            "has a curve that falls at speed " + json_text(next.speed));
    curve.push_back(next);
  }
  return curve;
}

std::vector<CounterLimit> read_limits(const Json& object) {
  std::vector<CounterLimit> limits;
  for (const Json& each : read_list(object, "limits")) {
    check_keys(each, {"counter", "at_most", "at_least"});
    CounterLimit limit{.counter = each.at("counter")};
    std::vector<std::string> known;
    for (const Counter& counter : counters()) known.emplace_back(counter.id);
    require(find_counter(limit.counter) != nullptr,
            unknown_name("counter", limit.counter, known, ""));
    const bool has_most = each.contains("at_most");
    require(has_most != each.contains("at_least"),
            "needs either 'at_most' or 'at_least' for the counter '" + limit.counter + "'");
    (has_most ? limit.at_most : limit.at_least) =
        read_number(each, has_most ? "at_most" : "at_least", 0.0, kMostCounter);
    limits.push_back(std::move(limit));
  }
  return limits;
}

ScoreRule read_rule(const Json& object) {
  using enum ScoreRule::What;
  ScoreRule rule{.stage = object.at("stage")};
  const std::string item = object.at("item");
  while (item != to_string(rule.what)) {
    require(rule.what != kCounters,
            "has the item '" + item +
                "'; known are runs, prediction, puzzles, cases, network, speed and counters");
    rule.what = static_cast<ScoreRule::What>(static_cast<int>(rule.what) + 1);
  }
  std::set<std::string> keys = {"stage", "item", "points"};
  if (rule.what == kNetwork || rule.what == kSpeed) {
    keys.insert("batch");
    rule.batch = read_int(object, "batch", kMaxBatch);
  }
  if (rule.what == kSpeed) {
    keys.insert({"reference", "curve", "near_bound"});
    rule.reference = object.at("reference");
    rule.curve = read_curve(object);
    if (object.contains("near_bound")) {
      rule.near_bound = read_number(object, "near_bound", 0.0, 1.0);
    }
  }
  if (rule.what == kCounters) {
    keys.insert("limits");
    rule.limits = read_limits(object);
  }
  check_keys(object, keys);
  rule.points = read_number(object, "points", 0.0, kMostPoints);
  return rule;
}

// {"points": …, "stages": […]}; each stage must have items.
ScoreChoice read_choice(const Json& object, const std::vector<ScoreRule>& items) {
  check_keys(object, {"points", "stages"});
  ScoreChoice choice{.most = read_number(object, "points", 0.0, kMostPoints),
                     .stages = read_list(object, "stages")};
  for (const std::string& stage : choice.stages) {
    require(std::ranges::find(items, stage, &ScoreRule::stage) != items.end(),
            "names the stage '" + stage + "' in 'best_of', which no item gives points for");
  }
  return choice;
}

ScoreRules read_rules(const Json& object) {
  check_keys(object, {"schema", "network", "rounds", "tolerance", "items", "best_of"});
  const std::string schema = object.at("schema");
  require(schema == kSchema, "has the schema '" + schema + "'; this grader reads " + kSchema);
  ScoreRules rules{.network = object.at("network"),
                   .rounds = read_int(object, "rounds", kMostRounds),
                   .tolerance = read_number(object, "tolerance", 0.0, kMostPoints)};
  std::set<std::tuple<std::string, ScoreRule::What, int>> seen;
  for (const Json& item : read_list(object, "items")) {
    const std::string place = "item " + std::to_string(rules.items.size() + 1) + ": ";
    try {
      const ScoreRule& rule = rules.items.emplace_back(read_rule(item));
      require(seen.insert({rule.stage, rule.what, rule.batch}).second,
              std::string("gives points a second time for '") + to_string(rule.what) +
                  "' of stage '" + rule.stage + "'");
    } catch (const RuleProblem& problem) {
      throw RuleProblem{place + problem.what};
    } catch (const Json::exception& error) {  // names a missing key
      throw RuleProblem{place + error.what()};
    }
  }
  if (object.contains("best_of")) rules.choice = read_choice(object.at("best_of"), rules.items);
  return rules;
}

}  // namespace

const char* to_string(ScoreRule::What what) {
  return enum_name(what,
                   {"runs", "prediction", "puzzles", "cases", "network", "speed", "counters"});
}

ScoreRules parse_score_rules(const std::string& text, const std::string& name) {
  const auto refuse = [&](const std::string& what) -> ScoreRules {
    throw EnvironmentError(name + ": " + what + " (docs/grading.md describes the file).");
  };
  try {
    return read_rules(parse_json(text));
  } catch (const Json::exception& error) {
    return refuse(error.what());
  } catch (const RuleProblem& problem) {
    return refuse(problem.what);
  }
}

ScoreRules load_score_rules(const std::filesystem::path& milestone_folder) {
  const auto file = milestone_folder / "scores.json";
  return parse_score_rules(read_text(file), file.string());
}

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

std::string finding_id(const CheckResult& check, const std::string& stage) {
  for (const Finding& finding : check.findings) {
    if (finding.stage == stage || finding.stage.empty()) return finding.id;
  }
  return {};
}

// No rule and no result gives more than an item has.
void give(ScoreItem& item, double earned, const std::string& why) {
  item.earned = std::clamp(std::isfinite(earned) ? earned : 0.0, 0.0, item.points);
  earned = item.earned;
  item.credit = earned == item.points ? Credit::kEarned : Credit::kPartial;
  if (item.credit == Credit::kPartial || item.item == "speed") item.why = why;
}

void leave_out(ScoreItem& item, const std::string& why) {
  item.credit = Credit::kNotMeasured;
  item.why = why;
}

void score_runs(ScoreItem& item, const StageRecord& stage, const std::string& id) {
  item.yours = stage.gave_output ? "yes" : "no";
  give(item, stage.gave_output ? item.points : 0.0, id);
}

void score_puzzles(ScoreItem& item, const std::optional<SolvedPuzzles>& puzzles) {
  if (!puzzles || puzzles->all == 0) {
    leave_out(item, "the puzzles were not part of this check");
    return;
  }
  item.yours = std::to_string(puzzles->solved) + " of " + std::to_string(puzzles->all);
  item.reference = std::to_string(puzzles->all);
  give(item, item.points * puzzles->solved / puzzles->all, "the others wait in puzzles/");
}

void score_prediction(ScoreItem& item, const std::optional<std::set<std::string>>& predicted) {
  if (!predicted) {
    leave_out(item, "the predictions were not part of this check");
    return;
  }
  const bool made = predicted->contains(item.stage);
  item.yours = made ? "yes" : "no";
  give(item, made ? item.points : 0.0, "grader predict, before the first measurement");
}

void score_cases(ScoreItem& item, const StageRecord& stage, std::size_t in_all,
                 const std::string& id) {
  item.yours = std::to_string(stage.passed_cases) + " of " + std::to_string(in_all);
  item.reference = std::to_string(in_all);
  const double share = static_cast<double>(stage.passed_cases) / static_cast<double>(in_all);
  give(item, std::floor(item.points * share),
       id + (stage.gave_output ? " in '" + stage.failed_case + "'" : ""));
}

void score_network(ScoreItem& item, const RunResult* run, const std::string& id) {
  if (run == nullptr) {
    give(item, 0.0, "not reached");
    return;
  }
  if (run->accuracy) {
    const auto of_all = [&](int count) {
      return std::to_string(count) + "/" + std::to_string(run->accuracy->total);
    };
    item.yours = of_all(run->accuracy->correct);
    if (run->accuracy->expected) item.reference = of_all(*run->accuracy->expected);
  }
  give(item, run->verdict == Verdict::kPassed ? item.points : 0.0, id);
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
  if (!points.decided) {
    item.credit = Credit::kUndecided;
    const std::string rounds =
        std::to_string(measure.rounds) + (measure.rounds == 1 ? " round" : " rounds");
    item.why += points.no_measure ? "; that is no measurement, after " + rounds +
                                        ": the lower bound counts, measure again on a quiet machine"
                                  : "; noise decides after " + rounds + ", in your favour";
  }
}

// "loads for each multiply-add 4.00, at most 1.70".
std::string missed_text(const CounterLimit& limit, const Counter& counter, double value) {
  const bool at_most = std::isfinite(limit.at_most);
  return std::string(counter.title) + (std::isnan(value) ? " none" : " " + three_digits(value)) +
         (at_most ? ", at most " : ", at least ") +
         three_digits(at_most ? limit.at_most : limit.at_least);
}

void score_counters(ScoreItem& item, const ScoreRule& rule, const std::vector<double>& values) {
  std::size_t kept = 0;
  std::string missed;
  for (const CounterLimit& limit : rule.limits) {
    const Counter* const counter = find_counter(limit.counter);
    const double value = values[static_cast<std::size_t>(counter - counters().data())];
    if (limit.is_kept_by(value)) {
      ++kept;
    } else if (missed.empty()) {
      missed = missed_text(limit, *counter, value);
    }
  }
  item.yours = std::to_string(kept) + " of " + std::to_string(rule.limits.size());
  item.reference = std::to_string(rule.limits.size());
  give(item, item.points * static_cast<double>(kept) / static_cast<double>(rule.limits.size()),
       missed);
}

void score_measured(ScoreItem& item, const ScoreRule& rule, const ScoreRules& rules,
                    const std::vector<Measured>& measured) {
  const auto found = std::ranges::find_if(measured, [&](const Measured& each) {
    return each.stage == rule.stage && each.batch == rule.batch;
  });
  if (found == measured.end() || !found->why_not.empty()) {
    leave_out(item, found == measured.end() ? "not measured" : found->why_not);
  } else if (found->finding) {
    give(item, 0.0, "when it was measured: " + found->finding->id);
  } else if (found->speed) {
    score_speed(item, rule, rules, *found->speed);
  } else {
    score_counters(item, rule, found->counters);
  }
}

// Why this item is not part of the requested check; empty if it is.
std::string not_asked(const ScoreRule& rule, const ScoreRules& rules, const CheckedWork& work) {
  if (work.only_stage && *work.only_stage != rule.stage) return "another --stage was asked";
  if (rule.batch == 0) return {};
  if (work.network != rules.network) return "only network " + rules.network + " counts";
  const bool asked = std::ranges::find(work.batches, rule.batch) != work.batches.end();
  return asked ? "" : "batch not checked";
}

}  // namespace

bool can_measure(const ScoreRule& rule, const ScoreRules& rules, const CheckedWork& work,
                 std::string& why) {
  why = work.emulated ? "not measured without a GPU" : not_asked(rule, rules, work);
  if (!why.empty()) return false;
  const RunResult* run = run_of(work.check.result, rule.stage, rule.batch);
  return run != nullptr && run->verdict == Verdict::kPassed;
}

bool can_count(const ScoreRule& rule, const CheckedWork& work) {
  const StageRecord stage = record_of(work.check, rule.stage);
  return stage.cases > 0 && stage.passed_cases == stage.cases;
}

Score make_score(const ScoreRules& rules, const CheckedWork& work,
                 const std::vector<Measured>& measured) {
  Score score{.items = {}, .choice = rules.choice};
  for (const ScoreRule& rule : rules.items) {
    ScoreItem item{.stage = rule.stage,
                   .item = to_string(rule.what),
                   .batch = rule.batch,
                   .points = rule.points};
    const StageRecord stage = record_of(work.check, rule.stage);
    std::string id = finding_id(work.check, rule.stage);
    if (id.empty() && stage.cases == 0) id = "no such stage was checked";
    const bool is_speed = rule.what == ScoreRule::What::kSpeed;
    std::string why = is_speed && work.emulated ? "" : not_asked(rule, rules, work);
    const bool is_measured = why.empty() && is_speed && can_measure(rule, rules, work, why);
    if (!why.empty()) {
      leave_out(item, why);
    } else if (rule.what == ScoreRule::What::kRuns) {
      score_runs(item, stage, id);
    } else if (rule.what == ScoreRule::What::kPuzzles) {
      score_puzzles(item, work.puzzles);
    } else if (rule.what == ScoreRule::What::kPrediction) {
      score_prediction(item, work.predicted);
    } else if (rule.what == ScoreRule::What::kCases) {
      const auto own = work.cases_of.find(rule.stage);
      score_cases(item, stage, own == work.cases_of.end() ? work.cases_in_all : own->second, id);
    } else if (rule.what == ScoreRule::What::kNetwork) {
      score_network(item, run_of(work.check.result, rule.stage, rule.batch), id);
    } else if (is_measured || (!is_speed && can_count(rule, work))) {
      score_measured(item, rule, rules, measured);
    } else {
      give(item, 0.0, is_speed ? "only right results are timed" : "only right results are counted");
    }
    score.items.push_back(std::move(item));
  }
  return score;
}

}  // namespace convlab::grader
