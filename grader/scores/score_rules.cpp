#include "grader/scores/score_rules.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/program/arguments.hpp"
#include "common/result/json_fields.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/measure/counters.hpp"

namespace convlab::grader {

using convlab::from_json;
using convlab::to_json;

namespace {

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw EnvironmentError(otherwise);
}

void require_range(double number, const char* key, double low, double high) {
  require(number >= low && number <= high, std::string("needs a number from ") + json_text(low) +
                                               " to " + json_text(high) + " for '" + key +
                                               "', not " + json_text(number));
}

// Refuses what reading has left out: a misspelt "ponits", or half an image.
void check_all_read(const Json& given, const Json& read) {
  require(!given.is_number() || given == read, "needs a whole number, not " + json_text(given));
  if (!given.is_structured()) return;
  for (const auto& [key, value] : given.items()) {
    require(given.is_array() || read.contains(key), "has an unknown key '" + key + "'");
    check_all_read(value, given.is_array() ? read.at(std::stoul(key)) : read.at(key));
  }
}

template <class Value>
Value read_as(const Json& json) {
  auto value = json.get<Value>();
  check_all_read(json, value);
  return value;
}

void check_curve(const std::vector<CurvePoint>& curve) {
  CurvePoint last;
  for (const CurvePoint& point : curve) {
    require_range(point.speed, "speed", 1e-6, 1e6);
    require_range(point.share, "share", 0.0, 1.0);
    require(point.speed >= last.speed && point.share >= last.share,
            "has a curve that falls at speed " + json_text(point.speed));
    last = point;
  }
}

void check_limits(const std::vector<CounterLimit>& limits) {
  std::vector<std::string> known;
  for (const Counter& counter : counters()) known.emplace_back(counter.id);
  for (const CounterLimit& limit : limits) {
    require(find_counter(limit.counter) != nullptr, unknown_name("counter", limit.counter, known));
    require(std::isfinite(limit.at_least) != std::isfinite(limit.at_most),
            "needs either 'at_most' or 'at_least' for the counter '" + limit.counter + "'");
  }
}

void check_rule(const ScoreRule& rule) {
  const bool is_speed = rule.what == ScoreRule::What::kSpeed;
  const bool has_batch = is_speed || rule.what == ScoreRule::What::kNetwork;
  require_range(rule.points, "points", 0.0, 1000.0);
  require_range(rule.batch, "batch", has_batch ? 1 : 0, has_batch ? kMaxBatch : 0);
  require(is_speed != rule.reference.empty(), "needs a 'reference' for a speed and nothing else");
  require(is_speed != rule.curve.empty(), "needs a list of 'curve' for a speed and nothing else");
  require_range(rule.near_bound, "near_bound", 0.0, is_speed ? 1.0 : 0.0);
  require(rule.is_of_counters() != rule.limits.empty(),
          "needs a list of 'limits' for counters or a technique and nothing else");
  require(!rule.on_network || rule.what == ScoreRule::What::kTechnique,
          "has 'on_network', which only a technique may have");
  check_curve(rule.curve);
  check_limits(rule.limits);
}

// "loads for each multiply-add 4.00, at most 1.70".
std::string missed_text(const CounterLimit& limit, const Counter& counter, double value) {
  const bool at_most = std::isfinite(limit.at_most);
  return std::string(counter.title) +
         (std::isnan(value) ? " not counted" : " " + three_digits(value)) +
         (at_most ? ", at most " : ", at least ") +
         three_digits(at_most ? limit.at_most : limit.at_least);
}

}  // namespace

static void json_fields(JsonFields& fields, CurvePoint& point) {
  fields("speed", point.speed, "share", point.share);
}

static void json_fields(JsonFields& fields, CounterLimit& limit) {
  fields("counter", limit.counter).defaulted("at_least", limit.at_least, "at_most", limit.at_most);
}

static void json_fields(JsonFields& fields, ScoreRule& rule) {
  fields("stage", rule.stage, "item", rule.what, "points", rule.points)
      .defaulted("batch", rule.batch, "reference", rule.reference, "curve", rule.curve,
                 "near_bound", rule.near_bound, "limits", rule.limits, "on_network",
                 rule.on_network);
}

static void json_fields(JsonFields& fields, ScoreRules& rules) {
  fields("network", rules.network, "rounds", rules.rounds, "tolerance", rules.tolerance)
      .defaulted("precision", rules.precision, "rules", rules.rules, "only_gpu", rules.only_gpu);
}

const char* to_string(ScoreRule::What what) {
  return enum_name(what, {"runs", "prediction", "puzzles", "cases", "network", "speed", "counters",
                          "technique"});
}

static ScoreRules read_rules(const Json& json) {
  const std::string schema = json.at("schema");
  require(schema == "convlab-scores-1", "has the unknown schema '" + schema + "'");
  Json head = json;
  for (const char* other : {"schema", "items", "best_of"}) head.erase(other);
  auto rules = read_as<ScoreRules>(head);
  require_range(rules.rounds, "rounds", 1, 20);
  require_range(rules.tolerance, "tolerance", 0.0, 1000.0);
  std::set<std::tuple<std::string, ScoreRule::What, int>> seen;
  require(!json.at("items").empty(), "needs a list of 'items'");
  for (const Json& item : json.at("items")) {
    try {
      const ScoreRule& rule = rules.items.emplace_back(read_as<ScoreRule>(item));
      check_rule(rule);
      require(seen.insert({rule.stage, rule.what, rule.batch}).second,
              std::string("gives points a second time for '") + to_string(rule.what) +
                  "' of stage '" + rule.stage + "'");
    } catch (const std::exception& error) {  // of JSON, too: it names a missing key
      throw EnvironmentError("item " + std::to_string(seen.size() + 1) + ": " + error.what());
    }
  }
  if (json.contains("best_of")) rules.choice = read_as<ScoreChoice>(json.at("best_of"));
  for (const std::string& stage : rules.choice.value_or(ScoreChoice{}).stages) {
    require(std::ranges::count(rules.items, stage, &ScoreRule::stage) > 0,
            "names the stage '" + stage + "' in 'best_of', which no item gives points for");
  }
  return rules;
}

ScoreRules parse_score_rules(const std::string& text, const std::string& name) {
  try {
    return read_rules(parse_json(text));
  } catch (const std::exception& error) {
    throw EnvironmentError(name + ": " + error.what() + " (docs/grading.md describes the file).");
  }
}

ScoreRules load_score_rules(const std::filesystem::path& milestone_folder) {
  const auto file = milestone_folder / "scores.json";
  return parse_score_rules(read_text(file), file.string());
}

bool name_only_stage(ScoreRules& rules, const std::string& stage) {
  const std::string only = rules.items.front().stage;
  const auto is_only = [&](const ScoreRule& rule) { return rule.stage == only; };
  if (!std::ranges::all_of(rules.items, is_only)) return false;
  for (ScoreRule& rule : rules.items) rule.stage = stage;
  return true;
}

KeptLimits kept_limits(const std::vector<CounterLimit>& limits,
                       const std::map<std::string, double>& values) {
  KeptLimits kept;
  for (const CounterLimit& limit : limits) {
    const Counter* const counter = find_counter(limit.counter);
    const auto known = values.find(limit.counter);
    const double value = known == values.end() ? NAN : known->second;
    if (limit.is_kept_by(value)) {
      ++kept.number;
    } else if (kept.missed.empty()) {
      kept.missed = missed_text(limit, *counter, value);
    }
  }
  return kept;
}

std::vector<std::string> parts_asked(const std::vector<CounterLimit>& limits) {
  std::vector<std::string> ids;
  for (const CounterLimit& limit : limits) {
    if (find_counter(limit.counter)->is_part) ids.push_back(limit.counter);
  }
  return ids;
}

std::vector<CounterLimit> limits_of(const Json& json) {
  auto limits = read_as<std::vector<CounterLimit>>(json);
  check_limits(limits);
  return limits;
}

}  // namespace convlab::grader
