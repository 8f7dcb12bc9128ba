#include "common/testing/catch.hpp"
#include "grader/plots/all_pictures.hpp"
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
  const auto plot = grader::op_by_batch({result}, "fa23");
  REQUIRE(plot);
  const std::string text = plot->data.text();
  // m1 a, m1 b, then the floor; nothing of a batch that no stage has.
  CHECK(text.find("$points << end_of_data\n"
                  "100\t3\t3\t3\n1000\t25\t20\t30\n\n\n"
                  "100\t6\t6\t6\n\n\n"
                  "100\t0.2\t0.2\t0.2\n1000\t2\t2\t2\n\n\nend") != std::string::npos);
  CHECK(text.find("$styles << end_of_data\n0\t0\n0\t1\n-2\t0\nend") != std::string::npos);
  CHECK(text.find("$tics << end_of_data\n1000\t1000\n100\t100\nend") != std::string::npos);
  CHECK(text.find("set label 'm1 b'") != std::string::npos);
}

TEST_CASE("op by batch: nothing to see with one batch, tics that keep their distance") {
  CHECK_FALSE(grader::op_by_batch({plotted_result({plotted_run("a", 1, 100, {1}, {1})})}, "fa23"));
  const auto plot = grader::op_by_batch(
      {plotted_result({plotted_run("a", 1, 9999, {1}, {1}), plotted_run("a", 1, 10'000, {1}, {1}),
                       plotted_run("a", 1, 1, {1}, {1})})},
      "fa23");
  REQUIRE(plot);
  CHECK(plot->data.text().find("$tics << end_of_data\n10000\t10 000\n9999\t\n1\t1\nend") !=
        std::string::npos);
}
