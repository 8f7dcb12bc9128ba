#include <algorithm>

#include "common/base/tests/support/catch.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

const std::vector<double> kFour = {4.0, 4.1, 3.9, 4.0, 4.05, 3.95, 4.0, 4.1};
const std::vector<double> kTwo = {2.0, 2.05, 1.95, 2.0, 2.02, 1.98, 2.0, 2.03};
const std::vector<double> kNoisy = {1.0, 9.0, 2.0, 7.0, 4.2, 3.8, 4.0, 4.1};

std::string cell(const Comparison& comparison, std::size_t row, const std::string& heading) {
  const auto& headings = comparison.table.heading;
  return comparison.table.rows.at(row).at(
      static_cast<std::size_t>(std::ranges::find(headings, heading) - headings.begin()));
}

}  // namespace

TEST_CASE("comparison: each stage with the one before it, with interval and verdict") {
  const Result result = plotted_result(
      {plotted_run("a", 1, 100, kFour, kFour), plotted_run("b", 2, 100, kTwo, kTwo),
       plotted_run("c", 3, 100, kFour, kFour), plotted_run("d", 4, 100, kNoisy, kNoisy)});
  const auto comparisons = compare({result}, {"x"});
  REQUIRE(comparisons.size() == 1);
  const Comparison& all = comparisons[0];
  CHECK(all.table.heading == std::vector<std::string>{"stage", "op 1 ms", "op 2 ms", "op time ms",
                                                      "layer time ms", "ratio", "95 %", "verdict",
                                                      "against"});
  REQUIRE(all.table.rows.size() == 4);
  CHECK(cell(all, 0, "ratio").empty());
  CHECK(cell(all, 1, "op time ms") == "4.00");
  CHECK(cell(all, 1, "ratio") == "2.00");
  CHECK_FALSE(cell(all, 1, "95 %").empty());
  CHECK(cell(all, 1, "verdict") == "faster");
  CHECK(cell(all, 2, "verdict") == "slower");
  CHECK(cell(all, 3, "verdict") == "undecided");
  CHECK(cell(all, 3, "against") == "m1 c");
}

TEST_CASE("comparison: the same stage in two files, with the machines of its own results") {
  const Result before = plotted_result({plotted_run("a", 1, 100, kFour, kFour)});
  Result after = plotted_result(
      {plotted_run("a", 1, 100, kTwo, kTwo), plotted_run("b", 2, 1000, kFour, kFour)});
  after.machine.cpu = "Another CPU";
  const auto files = compare({before, after}, {"before", "after"}, true);
  REQUIRE(files.size() == 2);
  CHECK(cell(files[0], 1, "stage") == "m1 a (after)");
  CHECK(cell(files[0], 1, "ratio") == "2.00");
  CHECK(cell(files[0], 1, "against") == "m1 a (before)");
  CHECK(files[0].caption.starts_with("Another CPU, 2 cores, Some CPU, 2 cores"));
  CHECK(files[1].caption.find("Some CPU") == std::string::npos);
}

TEST_CASE("comparison: one sample decides nothing; results without times compare nothing") {
  const Result one = plotted_result(
      {plotted_run("a", 1, 100, {4.0}, {4.0}), plotted_run("b", 2, 100, {1.0}, {1.0})});
  const auto comparisons = compare({one}, {"x"});
  CHECK(cell(comparisons[0], 1, "ratio") == "4.00");
  CHECK(cell(comparisons[0], 1, "verdict") == "undecided");
  CHECK(compare({plotted_result({})}, {"x"}).empty());
}
