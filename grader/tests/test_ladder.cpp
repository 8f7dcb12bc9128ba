#include "common/testing/catch.hpp"
#include "grader/plots/ladder.hpp"

using namespace convlab;

namespace {

RunResult run_of(const std::string& stage, int order, int batch, std::vector<double> op1,
                 std::vector<double> op2) {
  const ConvShape shape{.batch = batch, .height = 9, .width = 9, .kernel = 3};
  return {.network = "fa23",
          .batch = batch,
          .stage = {.id = stage, .title = "Stage " + stage, .order = order},
          .layers = {{.shape = shape, .op_ms = std::move(op1)},
                     {.shape = shape, .op_ms = std::move(op2)}},
          .verdict = Verdict::kPassed};
}

Result result_of(std::vector<RunResult> runs) {
  return {.program = "grader check",
          .milestone = "m1",
          .solution = "reference",
          .created = "2026-11-20T10:00:00Z",
          .machine = {.cpu = "Some CPU", .cores = 2, .compiler = "g++ 12.2", .commit = "abc1234"},
          .runs = std::move(runs)};
}

}  // namespace

TEST_CASE("ladder: a panel per batch, stages in the order of the ladder, medians and quartiles") {
  const auto ladder = grader::make_ladder(
      {result_of({run_of("b", 2, 1000, {10, 20, 30}, {5}), run_of("a", 1, 1000, {100}, {50}),
                  run_of("a", 1, 100, {1}, {2})})},
      "fa23");
  REQUIRE(ladder);
  REQUIRE(ladder->panels.size() == 2);
  CHECK(ladder->panels[0].batch == 100);
  REQUIRE(ladder->panels[1].rows.size() == 2);
  CHECK(ladder->panels[1].rows[0].title == "Stage a");
  const grader::LadderRow& row = ladder->panels[1].rows[1];
  CHECK(row.layers[0].median == 20);
  CHECK(row.layers[0].low == 15);
  CHECK(row.layers[0].high == 25);
  CHECK(row.sum.median == 25);
  CHECK(row.sum.low == 20);
  CHECK(ladder->caption ==
        "Some CPU, 2 cores · g++ 12.2 · network fa23 · median of 1 to 3, bars: middle half · "
        "commit abc1234 · 2026-11-20");
}

TEST_CASE("ladder: emulated, failed and unmeasured runs are left out") {
  RunResult emulated = run_of("emulated", 1, 100, {1}, {1});
  emulated.device = Device::kEmulated;
  RunResult failed = run_of("failed", 1, 100, {1}, {1});
  failed.verdict = Verdict::kFailed;
  RunResult unmeasured = run_of("unmeasured", 1, 100, {1}, {});
  const std::vector<Result> results = {result_of({emulated, failed, unmeasured})};
  CHECK(grader::networks_of(results).empty());
  CHECK_FALSE(grader::make_ladder(results, "fa23"));
}

TEST_CASE("ladder: of two runs of a stage the later file counts, and references are drawn in") {
  Result newer = result_of({run_of("a", 1, 100, {7}, {7})});
  newer.references = {
      {.label = "library", .kind = "library", .network = "fa23", .batch = 100, .op_ms = {4, 5}},
      {.label = "floor", .kind = "floor", .network = "fa23", .batch = 100, .op_ms = {1, 1}},
      {.label = "other", .kind = "floor", .network = "fa18", .batch = 100, .op_ms = {1, 1}}};
  const auto ladder =
      grader::make_ladder({result_of({run_of("a", 1, 100, {1}, {1})}), newer}, "fa23");
  REQUIRE(ladder);
  REQUIRE(ladder->panels[0].rows.size() == 1);
  CHECK(ladder->panels[0].rows[0].sum.median == 14);
  REQUIRE(ladder->panels[0].lines.size() == 2);
  CHECK(ladder->panels[0].lines[0].label == "floor");
  CHECK(ladder->panels[0].lines[1].milliseconds == 9);
  const std::string text = grader::gnuplot_text(*ladder, grader::PlotFormat::kSvg, "/tmp/it's.svg");
  CHECK(text.find("set output '/tmp/it''s.svg'") != std::string::npos);
  CHECK(text.find("library 9.00") != std::string::npos);
}
