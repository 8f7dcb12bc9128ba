#include <cmath>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/measure/counters.hpp"
#include "grader/scores/edition_points.hpp"
#include "grader/scores/points.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

constexpr std::size_t kCases = 4;

const ScoreRules kRules{
    .network = "fa23",
    .rounds = 3,
    .tolerance = 1.0,
    .items = {{.stage = "a", .what = ScoreRule::What::kRuns, .points = 10},
              {.stage = "a", .what = ScoreRule::What::kCases, .points = 40},
              {.stage = "a", .what = ScoreRule::What::kNetwork, .points = 20, .batch = 100},
              {.stage = "a", .what = ScoreRule::What::kNetwork, .points = 10, .batch = 1000},
              {.stage = "a",
               .what = ScoreRule::What::kSpeed,
               .points = 20,
               .batch = 100,
               .reference = "r",
               .curve = {{0.5, 0.0}, {1.0, 1.0}}}}};

// Passed everything up to batch 100.
CheckResult passed() {
  CheckResult check;
  for (std::size_t i = 0; i < kCases; ++i) {
    check.cases.push_back({.stage = "a", .name = "case " + std::to_string(i), .error = {9}});
  }
  check.result.runs.push_back(
      {.network = "fa23",
       .batch = 100,
       .stage = {.id = "a"},
       .accuracy = AccuracyResult{.correct = 88, .total = 100, .expected = 88},
       .verdict = Verdict::kPassed});
  check.result.verdict = Verdict::kPassed;
  return check;
}

ScoreBasis basis_with(std::vector<Measured> measured = {}) {
  return {.only_stage = {},
          .batches = {100},
          .network = "fa23",
          .emulated = false,
          .cases_in_all = kCases,
          .measured = std::move(measured)};
}

Measured speed_of(double speed) {
  SpeedMeasure measure{.reference = "r", .speed = speed, .low = speed, .high = speed, .rounds = 1};
  measure.yours_ms = {{1 / speed, 1 / speed, 1 / speed}};
  measure.reference_ms = {{1, 1, 1}};
  return {.stage = "a", .batch = 100, .speed = measure};
}

}  // namespace

TEST_CASE("score: all items of a work that passed; what was not asked does not count") {
  const CheckResult check = passed();
  const Score score = make_score(kRules, check, basis_with({speed_of(1.0)}));
  REQUIRE(score.items.size() == 5);
  CHECK(score.earned() == 90);
  CHECK(score.counted() == 90);
  CHECK(score.total() == 100);
  CHECK(score.items[1].yours == "4 of 4");
  CHECK(score.items[2].yours == "88/100");
  CHECK(score.items[2].reference == "88/100");
  CHECK(score.items[3].credit == Credit::kNotMeasured);
  CHECK(score.items[3].why == "batch not checked");
  CHECK(score.items[4].credit == Credit::kEarned);
  CHECK(score.items[4].yours == "1.00 ms");
  CHECK(score.items[4].why == "speed 1.00 (1.00 to 1.00)");
}

TEST_CASE("score: a wrong result keeps the points of what was right before") {
  CheckResult check = passed();
  check.result.runs.clear();
  check.cases.resize(2);
  check.cases[1].verdict = Verdict::kFailed;
  check.findings = {{.id = "E-stride", .stage = "a"}};
  const Score score = make_score(kRules, check, basis_with());
  CHECK(score.items[0].earned == 10);
  CHECK(score.items[1].earned == 10);
  CHECK(score.items[1].why == "E-stride in 'case 1'");
  CHECK(score.items[2].why == "not reached");
  CHECK(score.items[4].why == "only right results are timed");
  CHECK(score.earned() == 20);
  CHECK(score.counted() == 90);
}

TEST_CASE("score: nothing runs, nothing is earned, and the finding is the reason") {
  CheckResult check;
  check.findings = {{.id = "E-no-program"}};
  const Score score = make_score(kRules, check, basis_with());
  CHECK(score.earned() == 0);
  for (const int item : {0, 1}) CHECK(score.items[item].why == "E-no-program");
  // A deleted stage is not the same as a stage that was not requested.
  const CheckResult empty;
  CHECK(make_score(kRules, empty, basis_with()).items[0].why == "no such stage was checked");
}

TEST_CASE("score: emulated, speed has no points and the others make up the total") {
  const CheckResult check = passed();
  ScoreBasis basis = basis_with();
  basis.emulated = true;
  const Score score = make_score(kRules, check, basis);
  CHECK(score.items[4].credit == Credit::kNotMeasured);
  CHECK(score.items[4].why == "not measured without a GPU");
  CHECK(score.counted() == 70);
}

TEST_CASE("score: noise that decides is said, and costs nothing") {
  const CheckResult check = passed();
  Measured noisy = speed_of(0.75);
  noisy.speed->low = 0.5;
  noisy.speed->high = 1.0;
  noisy.speed->yours_ms[0].back() = 1.0;  // the fastest call shows what the stage can do
  noisy.speed->rounds = 3;
  const Score score = make_score(kRules, check, basis_with({noisy}));
  CHECK(score.items[4].credit == Credit::kUndecided);
  CHECK(score.items[4].earned == 20);
  CHECK(score.items[4].why ==
        "speed 0.750 (0.500 to 1.00); noise decides after 3 rounds, in your favour");
}

TEST_CASE("score: another network, another stage and a finding give no points") {
  const CheckResult check = passed();
  ScoreBasis basis = basis_with();
  basis.network = "fa18";
  CHECK(make_score(kRules, check, basis).items[2].why == "only network fa23 counts");
  basis.only_stage = "b";
  CHECK(make_score(kRules, check, basis).counted() == 0);
  // A finding while it is timed again takes the speed's points.
  Measured caught = speed_of(1.0);
  caught.speed.reset();
  caught.finding = Finding{.id = "E-replay"};
  CHECK(make_score(kRules, check, basis_with({caught})).items[4].why ==
        "when it was measured: E-replay");
}

TEST_CASE("score: of the stages to choose from, the points count up to their most") {
  Score score{.items = {{.stage = "core", .points = 60, .earned = 50, .credit = Credit::kPartial},
                        {.stage = "b", .points = 30, .earned = 30, .credit = Credit::kEarned},
                        {.stage = "c", .points = 30, .earned = 0, .credit = Credit::kPartial}},
              .choice = ScoreChoice{.most = 40, .stages = {"b", "c"}}};
  CHECK(score.total() == 100);
  CHECK(score.counted() == 100);
  CHECK(score.earned() == 80);
  score.items[2].earned = 30;
  CHECK(score.earned() == 90);
  score.items[2].credit = Credit::kNotMeasured;
  CHECK(score.counted() == 90);
  score.choice.reset();
  CHECK(score.total() == 120);
}

TEST_CASE("score: puzzles and a prediction give points where somebody looked at them") {
  ScoreRules rules = kRules;
  rules.items = {{.stage = "a", .what = ScoreRule::What::kPuzzles, .points = 4},
                 {.stage = "a", .what = ScoreRule::What::kPrediction, .points = 1}};
  const CheckResult check = passed();
  ScoreBasis basis;
  CHECK(make_score(rules, check, basis).counted() == 0.0);
  basis.puzzles = {3, 4};
  basis.predicted.emplace();
  const Score some = make_score(rules, check, basis);
  CHECK(some.items[0].earned == 3.0);
  CHECK(some.items[0].credit == Credit::kPartial);
  CHECK(some.items[1].earned == 0.0);
  basis.predicted->insert("a");
  CHECK(make_score(rules, check, basis).items[1].earned == 1.0);
}

TEST_CASE("score: counters give points for the limits that they keep, without a GPU") {
  const CheckResult check = passed();
  const ScoreRules rules{.network = "fa23",
                         .items = {{.stage = "a",
                                    .what = ScoreRule::What::kCounters,
                                    .points = 10,
                                    .limits = {{.counter = "loads-per-product", .at_most = 0.5},
                                               {.counter = "tensor-share", .at_least = 1.0}}}}};
  ScoreBasis basis = basis_with();
  basis.emulated = true;
  const auto counted = [](double loads, double tensor) {
    return Measured{.stage = "a",
                    .counters = {{"loads-per-product", loads}, {"tensor-share", tensor}}};
  };
  const auto item = [&](const Measured& outcome) {
    basis.measured = {outcome};
    return make_score(rules, check, basis).items.front();
  };
  CHECK(item(counted(0.5, 1.0)).credit == Credit::kEarned);
  const ScoreItem half = item(counted(2.0, 1.0));
  CHECK(half.earned == 5);
  CHECK(half.yours == "1 of 2");
  CHECK(half.why == "loads for each multiply-add 2.00, at most 0.500");
  CHECK(item(counted(2.0, NAN)).earned == 0);
  // What cannot be counted has not been shown.
  const ScoreItem uncounted = item({.stage = "a", .why_not = "it cannot be emulated"});
  CHECK(uncounted.credit == Credit::kPartial);
  CHECK(uncounted.earned == 0);
  CHECK(uncounted.why == "it cannot be emulated");
  const ScoreItem wrong_when_counted = item({.stage = "a", .finding = Finding{.id = "E-nan"}});
  CHECK(wrong_when_counted.credit == Credit::kPartial);
  CHECK(wrong_when_counted.earned == 0);
  // Wrong results earn nothing by how they were computed.
  CheckResult wrong = check;
  wrong.cases.front().verdict = Verdict::kFailed;
  const ScoreItem none = make_score(rules, wrong, basis).items.front();
  CHECK(none.credit == Credit::kPartial);
  CHECK(none.why == "only right results are counted");
}

TEST_CASE("score: a stage without its technique has no points for right results") {
  const CheckResult check = passed();
  const ScoreRules rules{.network = "fa23",
                         .items = {{.stage = "a", .what = ScoreRule::What::kRuns, .points = 1},
                                   {.stage = "a",
                                    .what = ScoreRule::What::kTechnique,
                                    .limits = {{.counter = "graph-part", .at_least = 0.95}}},
                                   {.stage = "a", .what = ScoreRule::What::kCases, .points = 4}}};
  ScoreBasis basis = basis_with();
  basis.emulated = true;
  CHECK(stages_to_count(rules, check) == std::set<std::string>{"a"});
  const auto made = [&](double part) {
    basis.measured = {{.stage = "a", .counters = {{"graph-part", part}}}};
    return make_score(rules, check, basis);
  };
  CHECK(made(1.0).earned() == 5);
  CHECK(made(1.0).items[1].yours == "shown");
  for (const double part : {0.0, 0.5, static_cast<double>(NAN)}) {
    const Score without = made(part);
    CHECK(without.earned() == 1);
    CHECK(without.items[2].why == "the stage's technique is not shown");
  }
  CHECK(made(0.5).items[1].why == "output that launches of graphs make 0.500, at least 0.950");
  // Of wrong outputs nobody knows; a file that errs once earns nothing by that.
  CheckResult wrong = check;
  wrong.cases.push_back({.stage = "a", .name = "b", .verdict = Verdict::kFailed});
  const Score unknown = make_score(rules, wrong, basis);
  CHECK(unknown.earned() == 1);
  CHECK(unknown.items[1].yours == "not counted");
  CHECK(unknown.items[1].why == "only right results are counted");
  CHECK(unknown.items[2].why == "the stage's technique is not counted");
  // Nor where nothing could be counted, whatever the reason.
  basis.measured = {{.stage = "a", .why_not = "it cannot be emulated"}};
  CHECK(make_score(rules, check, basis).earned() == 1);
}

TEST_CASE("score: other rules need another run only for what was not measured") {
  CheckResult check = passed();
  ScoreBasis basis = basis_with({speed_of(1.0)});
  CHECK(has_all_measures(kRules, check, basis));
  ScoreRules rules = kRules;
  rules.items.back().curve = {{1.0, 0.0}, {2.0, 1.0}};
  CHECK(has_all_measures(rules, check, basis));
  CHECK(make_score(rules, check, basis).items.back().earned == 0);
  rules.items.back().reference = "another";
  CHECK_FALSE(has_all_measures(rules, check, basis));
  // Only right results are timed, so nothing is missing where the result is wrong.
  check.result.runs.front().verdict = Verdict::kFailed;
  CHECK(has_all_measures(rules, check, basis));
  rules.items = {{.stage = "a",
                  .what = ScoreRule::What::kTechnique,
                  .limits = {{.counter = "graph-part", .at_least = 0.95}}}};
  CHECK_FALSE(has_all_measures(rules, check, basis));
  basis.measured = {{.stage = "a", .counters = {{"tensor-share", 1.0}}}};
  CHECK_FALSE(has_all_measures(rules, check, basis));  // parts are counted only if asked for
  basis.measured.front().counters.emplace("graph-part", 1.0);
  CHECK(has_all_measures(rules, check, basis));
}

TEST_CASE("score: what an edition gives for half precision, for half2 and without a time") {
  const testing::TemporaryFolder folder;
  const auto told = [&](const EditionTask& task, const std::string& text, Precision precision) {
    write_atomically(folder.path() / "a.cu", text);
    CheckResult check = passed();
    check.result.runs.front().stage.precision = precision;
    const RulesRequest rules{.edition = Edition{.name = "sp26", .gpu = "A GPU"}, .task = task};
    return edition_score(rules, check, SourceText({folder.path() / "a.cu"}));
  };
  const EditionTask half{.name = "op-5", .points = 4, .points_without_half2 = 2};
  CHECK(told(half, "half a;  // half2\n", Precision::kFp16).earned == 2);
  CHECK(told(half, "half2 a;\n", Precision::kFp16).earned == 4);
  CHECK(told(half, "a();\n__half2 a;\n", Precision::kFp16).earned == 4);
  const EditionTask tf32{.name = "req-1", .points = 10, .points_in_half = 5};
  CHECK(told(tf32, "", Precision::kTf32).earned == 10);
  CHECK(told(tf32, "", Precision::kFp16).why == "it computes in half precision");
  EditionTask timed{.name = "final", .points = 25, .time = TimeRule{10'000, 60, 100}};
  CHECK_FALSE(told(timed, "", Precision::kFp32).counts);
  CHECK(told(timed, "", Precision::kFp32).why ==
        "its time at 10000 images was not measured (60.0 to 100 ms on an A GPU)");
  timed.time->none_ms = 60;
  CHECK(told(timed, "", Precision::kFp32).earned == 25);
  CHECK(told(timed, "", Precision::kFp32).why ==
        "whether it keeps 60.0 ms on an A GPU at 10000 images was not measured");
}
