#include "common/base/tests/support/catch.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

const std::vector<double> kFour = {4.0, 4.1, 3.9, 4.0, 4.05, 3.95, 4.0, 4.1};
const std::vector<double> kTwo = {2.0, 2.05, 1.95, 2.0, 2.02, 1.98, 2.0, 2.03};
const std::vector<double> kNoisy = {1.0, 9.0, 2.0, 7.0, 4.2, 3.8, 4.0, 4.1};

}  // namespace

TEST_CASE("comparison: each stage with the one before it, with interval and verdict") {
  const Result result = plotted_result(
      {plotted_run("a", 1, 100, kFour, kFour), plotted_run("b", 2, 100, kTwo, kTwo),
       plotted_run("c", 3, 100, kFour, kFour), plotted_run("d", 4, 100, kNoisy, kNoisy)});
  const auto comparisons = compare({result}, {"x"});
  REQUIRE(comparisons.size() == 1);
  const auto& stages = comparisons[0].stages;
  REQUIRE(stages.size() == 4);
  CHECK_FALSE(stages[0].speed);
  CHECK(stages[1].sum_ms == 4.0);
  CHECK(stages[1].speed->ratio == 2.0);
  CHECK(stages[1].speed->low > 1.5);
  CHECK(stages[1].speed->high < 2.5);
  CHECK(std::string(stages[1].speed->verdict()) == "faster");
  CHECK(std::string(stages[2].speed->verdict()) == "slower");
  CHECK(std::string(stages[3].speed->verdict()) == "undecided");
  CHECK(stages[3].speed->against == "m1 c");
  const Table table = table_of(comparisons[0]);
  CHECK(table.heading == std::vector<std::string>{"stage", "op 1 ms", "op 2 ms", "op time ms",
                                                  "layer time ms", "ratio", "95 %", "verdict",
                                                  "against"});
  CHECK(table.rows[1][3] == "4.00");
  CHECK(table.rows[1][5] == "2.00");
}

TEST_CASE("comparison: the same stage in two files") {
  const Result before = plotted_result({plotted_run("a", 1, 100, kFour, kFour)});
  const Result after = plotted_result(
      {plotted_run("a", 1, 100, kTwo, kTwo), plotted_run("b", 2, 100, kFour, kFour)});
  const auto files = compare({before, after}, {"before", "after"}, true);
  REQUIRE(files.size() == 1);
  REQUIRE(files[0].stages.size() == 3);
  CHECK(files[0].stages[1].name == "m1 a (after)");
  CHECK(files[0].stages[1].speed->ratio == 2.0);
  CHECK(files[0].stages[1].speed->against == "m1 a (before)");
  CHECK_FALSE(files[0].stages[2].speed);
}

TEST_CASE("comparison: one sample decides nothing; results without times compare nothing") {
  const Result one = plotted_result(
      {plotted_run("a", 1, 100, {4.0}, {4.0}), plotted_run("b", 2, 100, {1.0}, {1.0})});
  const auto comparisons = compare({one}, {"x"});
  CHECK(comparisons[0].stages[1].speed->ratio == 4.0);
  CHECK(std::string(comparisons[0].stages[1].speed->verdict()) == "undecided");
  CHECK(compare({plotted_result({})}, {"x"}).empty());
}

TEST_CASE("comparison: by file, each batch names the machines of its own results") {
  Result other =
      plotted_result({plotted_run("a", 1, 100, kTwo, kTwo), plotted_run("a", 1, 1000, kTwo, kTwo)});
  other.machine.commit = "later";
  const Result first = plotted_result(
      {plotted_run("a", 1, 100, kFour, kFour), plotted_run("a", 1, 1000, kFour, kFour)});
  const auto files = compare({first, other}, {"first", "other"}, true);
  REQUIRE(files.size() == 2);
  for (const Comparison& comparison : files) {
    CHECK(comparison.stages[1].speed->ratio == 2.0);
    CHECK(comparison.caption.find("abc1234, later") != std::string::npos);
  }
}
