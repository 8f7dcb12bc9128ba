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

TEST_CASE("score rules: the reference keeps all limits, the baseline and the stage before do not") {
  auto counted = reference_counters();
  std::map<ScoreRule::What, int> rules;
  for (const std::string milestone : {"m3_memory", "m4_optimizations"}) {
    for (ScoreRule rule :
         load_score_rules(std::string(CONVLAB_SOURCE_DIR) + "/milestones/" + milestone).items) {
      const bool is_technique = rule.what == ScoreRule::What::kTechnique;
      if (rule.limits.empty()) continue;
      CAPTURE(rule.stage);
      ++rules[rule.what];
      if (is_technique && !counted.contains(rule.stage)) continue;
      REQUIRE(counted.contains(rule.stage));
      // Those that no table shows are known where the stages run (grader/corpus/exploits).
      const bool leaves_out = std::erase_if(rule.limits, [&](const CounterLimit& limit) {
        return find_counter(limit.counter)->is_technique &&
               std::isnan(counted[rule.stage][limit.counter]);
      });
      CHECK(keeps_all(rule, counted[rule.stage]));
      if (!leaves_out) CHECK_FALSE(keeps_all(rule, counted["baseline"]));
      const std::string before = ladder_stage(rule.stage.c_str(), "").baseline;
      if (!is_technique && counted.contains(before)) CHECK_FALSE(keeps_all(rule, counted[before]));
    }
  }
  CHECK(rules[ScoreRule::What::kCounters] == 14);
  CHECK(rules[ScoreRule::What::kTechnique] == 26);
}
