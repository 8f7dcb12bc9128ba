#include "common/testing/catch.hpp"
#include "grader/plots/op_by_batch.hpp"
#include "grader/plots/tests/plotted_result.hpp"

using namespace convlab;

TEST_CASE("op by batch: a line per stage over its batches, floors and libraries with theirs") {
  Result result =
      plotted_result({plotted_run("a", 1, 1000, {10, 20, 30}, {5}),
                      plotted_run("a", 1, 100, {1}, {2}), plotted_run("b", 2, 100, {3}, {3})});
  result.references = {
      {.label = "floor", .kind = "floor", .network = "fa23", .batch = 1000, .op_ms = {1, 1}},
      {.label = "floor", .kind = "floor", .network = "fa23", .batch = 100, .op_ms = {0.1, 0.1}},
      {.label = "elsewhere", .kind = "floor", .network = "fa23", .batch = 5000, .op_ms = {7, 7}},
      {.label = "zero", .kind = "floor", .network = "fa23", .batch = 100, .op_ms = {0, 0}}};
  const auto plot = grader::make_op_by_batch({result}, "fa23");
  REQUIRE(plot);
  REQUIRE(plot->stages.size() == 2);
  CHECK(plot->stages[0].name == "m1 a");
  REQUIRE(plot->stages[0].places.size() == 2);
  CHECK(plot->stages[0].places[0].batch == 100);
  CHECK(plot->stages[0].places[0].time.median == 3);
  CHECK(plot->stages[0].places[1].time.median == 25);
  CHECK(plot->stages[0].places[1].time.low == 20);
  REQUIRE(plot->references.size() == 1);
  CHECK(plot->references[0].places[1].time.median == 2);
  const std::string text = grader::gnuplot_text(*plot, grader::PlotFormat::kPng, "/tmp/b.png");
  CHECK(text.find("1000 25 20 30") != std::string::npos);
  CHECK(text.find("set xtics ('1000' 1000, '100' 100)") != std::string::npos);
}

TEST_CASE("op by batch: nothing to see with one batch, tics that keep their distance") {
  CHECK_FALSE(
      grader::make_op_by_batch({plotted_result({plotted_run("a", 1, 100, {1}, {1})})}, "fa23"));
  const auto plot = grader::make_op_by_batch(
      {plotted_result({plotted_run("a", 1, 9999, {1}, {1}), plotted_run("a", 1, 10'000, {1}, {1}),
                       plotted_run("a", 1, 1, {1}, {1})})},
      "fa23");
  REQUIRE(plot);
  const std::string text = grader::gnuplot_text(*plot, grader::PlotFormat::kPng, "/tmp/b.png");
  CHECK(text.find("set xtics ('10 000' 10000, '' 9999, '1' 1)") != std::string::npos);
}
