#include "common/result/score.hpp"

#include <algorithm>
#include <functional>

#include "common/result/json_fields.hpp"

namespace convlab {

const char* to_string(Credit credit) {
  switch (credit) {
    case Credit::kEarned:
      return "earned";
    case Credit::kPartial:
      return "partial";
    case Credit::kUndecided:
      return "undecided";
    case Credit::kNotMeasured:
      return "not-measured";
  }
  return "unknown";
}

bool Score::is_optional(const std::string& stage) const {
  return choice &&
         std::find(choice->stages.begin(), choice->stages.end(), stage) != choice->stages.end();
}

// What the stages of the choice have beyond its most does not count.
static double sum_of(const Score& score, const std::function<double(const ScoreItem&)>& points) {
  double required = 0.0;
  double chosen = 0.0;
  for (const ScoreItem& item : score.items) {
    (score.is_optional(item.stage) ? chosen : required) += points(item);
  }
  return required + (score.choice ? std::min(chosen, score.choice->most) : 0.0);
}

double Score::earned() const {
  return sum_of(*this, [](const ScoreItem& item) { return item.earned; });
}

double Score::counted() const {
  return sum_of(*this, [](const ScoreItem& item) {
    return item.credit == Credit::kNotMeasured ? 0.0 : item.points;
  });
}

double Score::total() const {
  return sum_of(*this, [](const ScoreItem& item) { return item.points; });
}

static void to_json(Json& json, Credit credit) {
  json = to_string(credit);
}
static void from_json(const Json& json, Credit& credit) {
  credit = value_named(
      json, {Credit::kEarned, Credit::kPartial, Credit::kUndecided, Credit::kNotMeasured});
}

static void to_json(Json& json, const SpeedMeasure& speed) {
  json = {{"reference", speed.reference},
          {"speed", speed.speed},
          {"low", speed.low},
          {"high", speed.high},
          {"rounds", speed.rounds},
          {"yours_ms", speed.yours_ms},
          {"reference_ms", speed.reference_ms}};
  if (speed.floor_ms) json["floor_ms"] = *speed.floor_ms;
}
static void from_json(const Json& json, SpeedMeasure& speed) {
  speed = {.reference = json.at("reference"),
           .yours_ms = json.at("yours_ms"),
           .reference_ms = json.at("reference_ms"),
           .speed = json.at("speed"),
           .low = json.at("low"),
           .high = json.at("high"),
           .floor_ms = {},
           .rounds = json.at("rounds")};
  if (json.contains("floor_ms")) speed.floor_ms = json["floor_ms"].get<double>();
}

static void to_json(Json& json, const ScoreItem& item) {
  json = {{"stage", item.stage}, {"item", item.item}};
  if (item.batch > 0) json["batch"] = item.batch;
  json.update({{"points", item.points},
               {"earned", item.earned},
               {"credit", item.credit},
               {"yours", item.yours},
               {"reference", item.reference},
               {"why", item.why}});
  if (item.speed) json["speed"] = *item.speed;
}
static void from_json(const Json& json, ScoreItem& item) {
  item = {.stage = json.at("stage"),
          .item = json.at("item"),
          .batch = json.value("batch", 0),
          .points = json.at("points"),
          .earned = json.at("earned"),
          .credit = json.at("credit"),
          .yours = json.at("yours"),
          .reference = json.at("reference"),
          .why = json.at("why"),
          .speed = {}};
  if (json.contains("speed")) item.speed = json["speed"].get<SpeedMeasure>();
}

void to_json(Json& json, const Score& score) {
  json = {{"earned", score.earned()},
          {"counted", score.counted()},
          {"total", score.total()},
          {"items", score.items}};
  if (score.choice) {
    json["best_of"] = {{"points", score.choice->most}, {"stages", score.choice->stages}};
  }
}
void from_json(const Json& json, Score& score) {
  score = {.items = json.at("items"), .choice = {}};
  if (json.contains("best_of")) {
    const Json& best = json.at("best_of");
    score.choice = ScoreChoice{.most = best.at("points"), .stages = best.at("stages")};
  }
}

void to_json(Json& json, const SourceFile& file) {
  json = {{"path", file.path}, {"sha256", file.sha256}};
}
void from_json(const Json& json, SourceFile& file) {
  file = {.path = json.at("path"), .sha256 = json.at("sha256")};
}

}  // namespace convlab
