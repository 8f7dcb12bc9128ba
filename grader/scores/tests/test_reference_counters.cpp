#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/stage/stage.hpp"
#include "grader/measure/counters.hpp"
#include "grader/scores/points.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

// Counter of a stage of the reference solution; NaN if it has nothing of this kind.
std::map<std::string, std::map<std::string, double>> reference_counters() {
  const auto json = nlohmann::json::parse(
      read_text(std::string(CONVLAB_SOURCE_DIR) + "/reference/results/counters/fa23.json"));
  std::map<std::string, std::map<std::string, double>> all;
  for (const auto& stage : json) {
    auto& values = all[stage.at("stage").get<std::string>()];
    for (const Counter& counter : counters()) {
      const auto value = stage.value(std::string(counter.id), nlohmann::json());
      values[std::string(counter.id)] =
          value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    }
  }
  return all;
}

bool keeps_all(const ScoreRule& rule, std::map<std::string, double>& values) {
  return std::ranges::all_of(rule.limits, [&](const CounterLimit& limit) {
    return limit.is_kept_by(values[limit.counter]);
  });
}

}  // namespace

TEST_CASE("score rules: the reference keeps the limits of counters, what it starts from does not") {
  auto counted = reference_counters();
  int rules = 0;
  for (const std::string milestone : {"m3_memory", "m4_optimizations"}) {
    for (const ScoreRule& rule :
         load_score_rules(std::string(CONVLAB_SOURCE_DIR) + "/milestones/" + milestone).items) {
      if (rule.what != ScoreRule::What::kCounters) continue;
      CAPTURE(rule.stage);
      ++rules;
      REQUIRE(counted.contains(rule.stage));
      CHECK(keeps_all(rule, counted[rule.stage]));
      CHECK_FALSE(keeps_all(rule, counted["baseline"]));
      const std::string before = ladder_stage(rule.stage.c_str(), "").baseline;
      if (counted.contains(before)) CHECK_FALSE(keeps_all(rule, counted[before]));
    }
  }
  CHECK(rules == 14);
}

TEST_CASE("score rules: the reference shows each technique, the baseline none") {
  auto counted = reference_counters();
  int rules = 0;
  for (const std::string milestone : {"m3_memory", "m4_optimizations"}) {
    for (ScoreRule rule :
         load_score_rules(std::string(CONVLAB_SOURCE_DIR) + "/milestones/" + milestone).items) {
      if (rule.what != ScoreRule::What::kTechnique) continue;
      CAPTURE(rule.stage);
      ++rules;
      if (!counted.contains(rule.stage)) continue;
      // Those that no table shows are known where the stages run (grader/corpus/exploits).
      const auto is_unknown = [&](const CounterLimit& limit) {
        return find_counter(limit.counter)->is_technique &&
               std::isnan(counted[rule.stage][limit.counter]);
      };
      const bool leaves_out = std::erase_if(rule.limits, is_unknown) > 0;
      CHECK(keeps_all(rule, counted[rule.stage]));
      if (!leaves_out) CHECK_FALSE(keeps_all(rule, counted["baseline"]));
    }
  }
  CHECK(rules == 26);
}
