#include <filesystem>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/whole_file.hpp"
#include "grader/scores/points.hpp"

using namespace convlab;
using namespace convlab::grader;
using testing::message_of;

namespace {

const std::string kHead = R"({"schema": "convlab-scores-1", "network": "fa23", "rounds": 3,
                              "tolerance": 1, "items": [)";

std::string complaint(const std::string& items) {
  return message_of([&] { parse_score_rules(kHead + items + "]}", "x.json"); });
}

}  // namespace

TEST_CASE("score rules: every milestone has them, they give 100 points") {
  int milestones = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(CONVLAB_SOURCE_DIR) + "/milestones")) {
    if (!std::filesystem::exists(entry.path() / "README.md")) continue;
    CAPTURE(entry.path().string());
    ++milestones;
    const ScoreRules rules = load_score_rules(entry.path());
    Score score{.items = {}, .choice = rules.choice};
    for (const ScoreRule& rule : rules.items) {
      score.items.push_back({.stage = rule.stage, .points = rule.points});
    }
    CHECK(score.total() == 100.0);
  }
  CHECK(milestones == 4);
}

TEST_CASE("score rules: all fields are read") {
  const ScoreRules rules =
      parse_score_rules(kHead + R"({"stage": "a", "item": "cases", "points": 40},
                 {"stage": "a", "item": "speed", "points": 20.5, "batch": 1000, "reference": "b",
                  "curve": [{"speed": 0.5, "share": 0}, {"speed": 1, "share": 0.75}],
                  "near_bound": 0.25}]})",
                        "x.json");
  CHECK(rules.network == "fa23");
  CHECK(rules.rounds == 3);
  CHECK(rules.tolerance == 1.0);
  REQUIRE(rules.items.size() == 2);
  CHECK(rules.items[0].what == ScoreRule::What::kCases);
  CHECK(rules.items[1].points == 20.5);
  CHECK(rules.items[1].batch == 1000);
  CHECK(rules.items[1].reference == "b");
  CHECK(rules.items[1].curve == std::vector<CurvePoint>{{0.5, 0.0}, {1.0, 0.75}});
  CHECK(rules.items[1].near_bound == 0.25);
}

TEST_CASE("score rules: what is wrong is told with file, item and reason") {
  const std::string speed =
      R"({"stage": "a", "item": "speed", "points": 1, "batch": 1, "reference": "b", "curve": [)";
  const std::string counters = R"({"stage": "a", "item": "counters", "points": 5, "limits": [)";
  CHECK(complaint("") == "x.json: needs a list of 'items' (docs/grading.md describes the file).");
  const auto [item, words] = GENERATE_COPY(table<std::string, std::string>({
      {R"({"stage": "a", "item": "runs", "points": 1},
          {"stage": "a", "item": "runs", "points": 2})",
       "x.json: item 2: gives points a second time for 'runs' of stage 'a'"},
      {R"(7)", "item 1: "},
      {R"({"item": "runs", "points": 1})", "key 'stage' not found"},
      {R"({"stage": "a", "item": "beauty", "points": 1})", "'beauty' is not a known value"},
      {R"({"stage": "a", "item": "runs", "points": 1, "ponits": 1})", "unknown key 'ponits'"},
      {R"({"stage": "a", "item": "runs", "points": -1})",
       "from 0.0 to 1000.0 for 'points', not -1"},
      {R"({"stage": "a", "item": "runs"})", "'points'"},
      {R"({"stage": "a", "item": "runs", "points": 1, "batch": 2})", "for 'batch'"},
      {R"({"stage": "a", "item": "network", "points": 1, "batch": 1.5})", "whole number"},
      {R"({"stage": "a", "item": "network", "points": 1, "batch": 10001})", "to 10000"},
      {R"({"stage": "a", "item": "speed", "points": 1, "batch": 1})", "'reference'"},
      {speed + "]}", "needs a list of 'curve'"},
      {speed + R"({"speed": 0, "share": 1}]})", "for 'speed', not 0"},
      {speed + R"({"speed": 1, "share": 0.5}, {"speed": 2, "share": 0.25}]})",
       "a curve that falls at speed 2.0"},
      {counters + "]}", "needs a list of 'limits'"},
      {counters + R"({"counter": "speed", "at_most": 1}]})", "loads-per"},
      {counters + R"({"counter": "tensor-share"}]})", "either 'at_most' or"},
      {counters + R"({"counter": "tensor-share", "at_least": 1}], "on_network": true})",
       "has 'on_network', which only a technique may have"},
  }));
  CAPTURE(item);
  CHECK_THAT(complaint(item), Catch::Matchers::ContainsSubstring(words));
}

TEST_CASE("score rules: the best of some stages") {
  const std::string items = R"({"stage": "a", "item": "runs", "points": 60},
                               {"stage": "b", "item": "runs", "points": 30},
                               {"stage": "c", "item": "runs", "points": 30}], "best_of": )";
  const auto rules = [&](const std::string& choice) {
    return parse_score_rules(kHead + items + choice + "}", "x.json");
  };
  const ScoreRules read = rules(R"({"points": 40, "stages": ["b", "c"]})");
  REQUIRE(read.choice);
  CHECK(*read.choice == ScoreChoice{.most = 40, .stages = {"b", "c"}});
  const auto [choice, words] = GENERATE(table<std::string, std::string>({
      {R"({"points": 40})", "key 'stages' not found"},
      {R"({"points": 40, "stages": [7]})", "must be string"},
      {R"({"points": 40, "stages": ["b", "d"]})", "names the stage 'd' in 'best_of'"},
      {R"({"points": 40, "stages": ["b"], "stage": ["b"]})", "unknown key 'stage'"},
  }));
  CAPTURE(choice);
  CHECK_THAT(message_of([&, &choice = choice] { rules(choice); }),
             Catch::Matchers::ContainsSubstring(words));
}

TEST_CASE("score rules: no JSON, another schema, no file") {
  CHECK_THAT(message_of([] { parse_score_rules("{", "x.json"); }),
             Catch::Matchers::ContainsSubstring("x.json: "));
  CHECK_THAT(message_of([] { parse_score_rules(R"({"schema": "other"})", "x.json"); }),
             Catch::Matchers::ContainsSubstring("unknown schema 'other'"));
  CHECK_THAT(message_of([] { load_score_rules("/nonexistent"); }),
             Catch::Matchers::ContainsSubstring("/nonexistent/scores.json"));
}

TEST_CASE("score rules: the curve is a line over the logarithm, level outside, with steps") {
  const std::vector<CurvePoint> curve = {{0.25, 0.0}, {1.0, 0.5}, {1.0, 0.75}, {4.0, 1.0}};
  CHECK(share_at(curve, 0.01) == 0.0);
  CHECK(share_at(curve, 0.25) == 0.0);
  CHECK(share_at(curve, 0.5) == Approx(0.25));
  CHECK(share_at(curve, 0.999999) == Approx(0.5).epsilon(1e-5));
  CHECK(share_at(curve, 1.0) == 0.75);
  CHECK(share_at(curve, 2.0) == Approx(0.875));
  CHECK(share_at(curve, 100.0) == 1.0);
  CHECK(share_at({{2.0, 0.5}}, 1.0) == 0.5);
  CHECK(share_at({{2.0, 0.5}}, 3.0) == 0.5);
}
