#include "grader/scores/score_rules.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/unknown_name.hpp"
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

}  // namespace convlab::grader
