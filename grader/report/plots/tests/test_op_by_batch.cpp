#include "common/base/testing/catch.hpp"
#include "grader/report/plots/result_figures.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

using namespace convlab;

TEST_CASE("op by batch: a line per stage over its batches, bounds and libraries with theirs") {
  Result result =
      plotted_result({plotted_run("a", 1, 1000, {10, 20, 30}, {5}),
                      plotted_run("a", 1, 100, {1}, {2}), plotted_run("b", 2, 100, {3}, {3})});
  result.references = {
      {.label = "bound", .kind = "bound", .network = "fa23", .batch = 1000, .op_ms = {1, 1}},
      {.label = "bound", .kind = "bound", .network = "fa23", .batch = 100, .op_ms = {0.1, 0.1}},
      {.label = "elsewhere", .kind = "bound", .network = "fa23", .batch = 5000, .op_ms = {7, 7}},
      {.label = "zero", .kind = "bound", .network = "fa23", .batch = 100, .op_ms = {0, 0}}};
  const auto plot = grader::op_by_batch({result}, "fa23");
  REQUIRE(plot);
  // m1 a, m1 b, then the bound; nothing of a batch that no stage has.
  const auto& lines = plot->panels.at(0).series;
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].label == "m1 a");
  CHECK(lines[0].marks.at(0).value == 3);
  CHECK(lines[0].marks.at(1).at == 1000);
  CHECK(lines[0].marks.at(1).low == 20);
  CHECK(lines[0].marks.at(1).high == 30);
  CHECK(lines[1].colour == lines[0].colour);  // one milestone
  CHECK(lines[1].symbol != lines[0].symbol);
  CHECK(lines[2].colour == grader::kBoundColour);
  CHECK(lines[2].symbol < 0);
  CHECK(lines[2].marks.size() == 2);
  CHECK(plot->labels.size() == 3);
  using Tics = std::vector<std::pair<double, std::string>>;
  CHECK(plot->x.tics == Tics{{1000, "1000"}, {100, "100"}});
  CHECK(table_of(*plot).rows.at(0) == std::vector<std::string>{"100", "3", "6", "0.200"});
}

TEST_CASE("op by batch: nothing to see with one batch, tics that keep their distance") {
  CHECK_FALSE(grader::op_by_batch({plotted_result({plotted_run("a", 1, 100, {1}, {1})})}, "fa23"));
  const auto plot = grader::op_by_batch(
      {plotted_result({plotted_run("a", 1, 9999, {1}, {1}), plotted_run("a", 1, 10'000, {1}, {1}),
                       plotted_run("a", 1, 1, {1}, {1})})},
      "fa23");
  REQUIRE(plot);
  using Tics = std::vector<std::pair<double, std::string>>;
  CHECK(plot->x.tics == Tics{{10'000, "10 000"}, {9999, ""}, {1, "1"}});
}
