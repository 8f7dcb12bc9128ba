#include "grader/scores/score_rules.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/whole_file.hpp"
#include "common/program/arguments.hpp"
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

// Refuses unknown keys: a misspelt "ponits" must not silently give none.
void check_keys(const Json& object, const std::set<std::string>& known) {
  if (!object.is_object()) throw RuleProblem{"is not a JSON object"};
  for (const auto& item : object.items()) {
    if (known.contains(item.key())) continue;
    std::string list;
    for (const std::string& key : known) list += (list.empty() ? "" : ", ") + key;
    throw RuleProblem{"has an unknown key '" + item.key() + "'; known are " + list};
  }
}

std::string read_text_field(const Json& object, const char* key) {
  if (!object.contains(key) || !object.at(key).is_string() ||
      object.at(key).get<std::string>().empty()) {
    throw RuleProblem{std::string("needs a text for '") + key + "'"};
  }
  return object.at(key).get<std::string>();
}

std::string number_text(double value) {
  return json_text(value);
}

double read_number(const Json& object, const char* key, double low, double high) {
  const bool is_number = object.contains(key) && object.at(key).is_number();
  if (!is_number || !(object.at(key) >= low && object.at(key) <= high)) {
    throw RuleProblem{std::string("needs a number from ") + number_text(low) + " to " +
                      number_text(high) + " for '" + key + "'" +
                      (object.contains(key) ? ", not " + json_text(object.at(key)) : "")};
  }
  return object.at(key).get<double>();
}

int read_int(const Json& object, const char* key, int low, int high) {
  if (object.contains(key) && !object.at(key).is_number_integer()) {
    throw RuleProblem{std::string("needs a whole number for '") + key + "', not " +
                      json_text(object.at(key))};
  }
  return static_cast<int>(read_number(object, key, low, high));
}

// A list that has something in it. @param needed  completes "needs"
const Json& read_list(const Json& object, const char* key, const char* needed) {
  if (!object.contains(key) || !object.at(key).is_array() || object.at(key).empty()) {
    throw RuleProblem{std::string("needs ") + needed};
  }
  return object.at(key);
}

std::vector<CurvePoint> read_curve(const Json& object) {
  std::vector<CurvePoint> curve;
  for (const Json& point :
       read_list(object, "curve", "a 'curve': a list of {\"speed\": …, \"share\": …}")) {
    check_keys(point, {"speed", "share"});
    const double speed = read_number(point, "speed", 0.0, kMostSpeed);
    if (speed == 0.0) throw RuleProblem{"has a curve with speed 0, which no program has"};
    const double share = read_number(point, "share", 0.0, 1.0);
    if (!curve.empty() && (speed < curve.back().speed || share < curve.back().share)) {
      throw RuleProblem{"has a curve that falls: after speed " + number_text(curve.back().speed) +
                        ", share " + number_text(curve.back().share) + " comes speed " +
                        number_text(speed) + ", share " + number_text(share)};
    }
    curve.push_back({speed, share});
  }
  return curve;
}

std::vector<CounterLimit> read_limits(const Json& object) {
  std::vector<CounterLimit> limits;
  for (const Json& each :
       read_list(object, "limits", "'limits': a list of {\"counter\": …, \"at_most\": …}")) {
    check_keys(each, {"counter", "at_most", "at_least"});
    CounterLimit limit{.counter = read_text_field(each, "counter")};
    if (find_counter(limit.counter) == nullptr) {
      std::string known;
      for (const Counter& counter : counters())
        known += (known.empty() ? "" : ", ") + std::string(counter.id);
      throw RuleProblem{"names the counter '" + limit.counter + "'; known are " + known};
    }
    const bool has_most = each.contains("at_most");
    if (has_most == each.contains("at_least")) {
      throw RuleProblem{"needs either 'at_most' or 'at_least' for the counter '" + limit.counter +
                        "'"};
    }
    (has_most ? limit.at_most : limit.at_least) =
        read_number(each, has_most ? "at_most" : "at_least", 0.0, kMostCounter);
    limits.push_back(std::move(limit));
  }
  return limits;
}

ScoreRule::What read_what(const Json& object) {
  const std::string text = read_text_field(object, "item");
  using enum ScoreRule::What;
  for (const ScoreRule::What what :
       {kRuns, kPrediction, kPuzzles, kCases, kNetwork, kSpeed, kCounters}) {
    if (text == to_string(what)) return what;
  }
  throw RuleProblem{"has the item '" + text +
                    "'; known are runs, prediction, puzzles, cases, network, speed and counters"};
}

ScoreRule read_rule(const Json& object) {
  if (!object.is_object()) throw RuleProblem{"is not a JSON object"};
  ScoreRule rule;
  rule.stage = read_text_field(object, "stage");
  rule.what = read_what(object);
  std::set<std::string> keys = {"stage", "item", "points"};
  if (rule.what == ScoreRule::What::kNetwork || rule.what == ScoreRule::What::kSpeed) {
    keys.insert("batch");
    rule.batch = read_int(object, "batch", 1, kMaxBatch);
  }
  if (rule.what == ScoreRule::What::kSpeed) {
    keys.insert({"reference", "curve", "near_bound"});
    rule.reference = read_text_field(object, "reference");
    rule.curve = read_curve(object);
    if (object.contains("near_bound")) {
      rule.near_bound = read_number(object, "near_bound", 0.0, 1.0);
    }
  }
  if (rule.what == ScoreRule::What::kCounters) {
    keys.insert("limits");
    rule.limits = read_limits(object);
  }
  check_keys(object, keys);
  rule.points = read_number(object, "points", 0.0, kMostPoints);
  return rule;
}

// {"points": …, "stages": […]}; each stage must have items, and together more points than count.
ScoreChoice read_choice(const Json& object, const std::vector<ScoreRule>& items) {
  check_keys(object, {"points", "stages"});
  ScoreChoice choice{.most = read_number(object, "points", 0.0, kMostPoints), .stages = {}};
  double sum = 0.0;
  for (const Json& stage : read_list(object, "stages", "a list of 'stages' in 'best_of'")) {
    if (!stage.is_string()) throw RuleProblem{"has a stage in 'best_of' that is no text"};
    choice.stages.push_back(stage.get<std::string>());
    double points = 0.0;
    for (const ScoreRule& rule : items)
      points += rule.stage == choice.stages.back() ? rule.points : 0.0;
    if (points == 0.0) {
      throw RuleProblem{"names the stage '" + choice.stages.back() +
                        "' in 'best_of', which no item gives points for"};
    }
    sum += points;
  }
  if (sum < choice.most) {
    throw RuleProblem{"has stages with " + number_text(sum) + " points in 'best_of', fewer than " +
                      number_text(choice.most)};
  }
  return choice;
}

ScoreRules read_rules(const Json& object) {
  check_keys(object, {"schema", "network", "rounds", "tolerance", "items", "best_of"});
  if (const std::string schema = read_text_field(object, "schema"); schema != kSchema) {
    throw RuleProblem{"has the schema '" + schema + "'; this grader reads " + kSchema};
  }
  ScoreRules rules{.network = read_text_field(object, "network"),
                   .rounds = read_int(object, "rounds", 1, kMostRounds),
                   .tolerance = read_number(object, "tolerance", 0.0, kMostPoints),
                   .items = {},
                   .choice = {}};
  std::set<std::tuple<std::string, ScoreRule::What, int>> seen;
  for (const Json& item : read_list(object, "items", "a list of 'items'")) {
    const std::string place = "item " + std::to_string(rules.items.size() + 1) + " ";
    try {
      rules.items.push_back(read_rule(item));
    } catch (const RuleProblem& problem) {
      throw RuleProblem{place + problem.what};
    }
    const ScoreRule& rule = rules.items.back();
    if (!seen.insert({rule.stage, rule.what, rule.batch}).second) {
      throw RuleProblem{place + "gives points a second time for '" + to_string(rule.what) +
                        "' of stage '" + rule.stage + "'"};
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

bool keeps(const CounterLimit& limit, double value) {
  if (limit.at_most) return value <= *limit.at_most;
  return limit.at_least && value >= *limit.at_least;
}

ScoreRules parse_score_rules(const std::string& text, const std::string& name) {
  try {
    return read_rules(parse_json(text));
  } catch (const Json::parse_error& error) {
    throw EnvironmentError(name + " is not JSON (it goes wrong at byte " +
                           std::to_string(error.byte) + "); docs/grading.md shows its form.");
  } catch (const Json::exception& error) {  // a number too large for a double
    throw EnvironmentError(name + " holds what cannot be read (" + error.what() +
                           "); docs/grading.md shows its form.");
  } catch (const RuleProblem& problem) {
    throw EnvironmentError(name + ": " + problem.what + " (docs/grading.md describes the file).");
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

}  // namespace convlab::grader
