#include "common/error/error.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/plots/tests/plotted_result.hpp"

using namespace convlab;

TEST_CASE("ladder: a panel per batch, stages in the order of the ladder, medians and quartiles") {
  const auto ladder =
      grader::make_ladder({plotted_result({plotted_run("b", 2, 1000, {10, 20, 30}, {5}),
                                           plotted_run("a", 1, 1000, {100}, {50}),
                                           plotted_run("a", 1, 100, {1}, {2})})},
                          "fa23");
  REQUIRE(ladder);
  REQUIRE(ladder->panels.size() == 2);
  CHECK(ladder->panels[0].batch == 100);
  CHECK(ladder->panels[1].batch == 1000);
  REQUIRE(ladder->rows.size() == 2);
  CHECK(ladder->rows[0].title == "Stage a");
  CHECK(ladder->rows[0].cells.size() == 2);
  CHECK(ladder->rows[1].cells.size() == 1);
  const grader::LadderCell& row = ladder->rows[1].cells.at(1);
  CHECK(row.layers[0].median == 20);
  CHECK(row.layers[0].low == 15);
  CHECK(row.layers[0].high == 25);
  CHECK(row.sum.median == 25);
  CHECK(row.text == "25.0");
  CHECK(row.sum.low == 20);
  CHECK(ladder->caption ==
        "Some CPU, 2 cores · g++ 12.2 · network fa23 · median of 1 to 3, bars: middle half · "
        "commit abc1234 · 2026-11-20");
}

TEST_CASE("ladder: emulated, failed and unmeasured runs are left out") {
  RunResult emulated = plotted_run("emulated", 1, 100, {1}, {1});
  emulated.device = Device::kEmulated;
  RunResult failed = plotted_run("failed", 1, 100, {1}, {1});
  failed.verdict = Verdict::kFailed;
  RunResult unmeasured = plotted_run("unmeasured", 1, 100, {1}, {});
  const RunResult zero = plotted_run("zero", 1, 100, {0, 1}, {1});
  const std::vector<Result> results = {plotted_result({emulated, failed, unmeasured, zero})};
  CHECK(grader::networks_of(results).empty());
  CHECK_FALSE(grader::make_ladder(results, "fa23"));
}

TEST_CASE("ladder: of two runs of a stage the later file counts, and references are drawn in") {
  Result newer = plotted_result({plotted_run("a", 1, 100, {7}, {7})});
  newer.references = {
      {.label = "library", .kind = "library", .network = "fa23", .batch = 100, .op_ms = {4, 5}},
      {.label = "floor", .kind = "floor", .network = "fa23", .batch = 100, .op_ms = {1, 1}},
      {.label = "other", .kind = "floor", .network = "fa18", .batch = 100, .op_ms = {1, 1}}};
  const auto ladder =
      grader::make_ladder({plotted_result({plotted_run("a", 1, 100, {1}, {1})}), newer}, "fa23");
  REQUIRE(ladder);
  REQUIRE(ladder->rows.size() == 1);
  CHECK(ladder->rows[0].cells.at(0).sum.median == 14);
  REQUIRE(ladder->panels[0].lines.size() == 2);
  CHECK(ladder->panels[0].lines[0].label == "floor");
  CHECK(ladder->panels[0].lines[1].milliseconds == 9);
  const std::string text = pictures_of(*ladder).at(0).data.text();
  CHECK(text.find("0\t0\t2\t-2\tfloor 2.00\n0\t1\t9\t-1\tlibrary 9.00\n") != std::string::npos);
}

TEST_CASE("steps: each stage against its named baseline, or the one before it") {
  RunResult tiled = plotted_run("tiled", 10, 100, {4}, {20});
  tiled.stage.baseline = "baseline";
  RunResult unrolled = plotted_run("unrolled", 20, 100, {1, 2, 3}, {4});
  unrolled.stage.baseline = "tiled";
  RunResult orphan = plotted_run("orphan", 30, 100, {1}, {1});
  orphan.stage.baseline = "not-measured";
  const std::vector<Result> results = {
      plotted_result({plotted_run("baseline", 0, 100, {100}, {200})}, "m1"),
      plotted_result({plotted_run("baseline", 0, 100, {2}, {10})}, "m2"),
      plotted_result({tiled, unrolled, orphan}, "m3")};
  const auto steps = grader::make_steps(results, "fa23");
  REQUIRE(steps);
  REQUIRE(steps->panels.size() == 1);
  REQUIRE(steps->rows.size() == 3);  // nothing precedes m1; the orphan's is unknown
  const auto cell = [&](std::size_t row) { return steps->rows[row].cells.at(0); };
  CHECK(steps->rows[0].title == "m2 baseline over m1 baseline");
  CHECK(cell(0).text == "25.0");
  CHECK(cell(0).layers[0].median == 50);
  CHECK(steps->rows[1].title == "m3 tiled over m2 baseline");
  CHECK(cell(1).text == "0.500");
  const grader::LadderCell last = cell(2);
  CHECK(steps->rows[2].title == "m3 unrolled over m3 tiled");
  CHECK(last.text == "4.00");
  CHECK(last.layers[0].median == 2);
  CHECK(last.layers[0].low == Approx(4 / 2.5));
  CHECK(last.layers[0].high == Approx(4 / 1.5));
  CHECK(last.layers[1].median == 5);
}

TEST_CASE("steps: batches apart, never a CPU's stage for a GPU's baseline, none for one stage") {
  RunResult on_gpu = plotted_run("tiled", 10, 100, {1}, {1});
  on_gpu.device = Device::kGpu;
  on_gpu.stage.baseline = "baseline";
  const RunResult on_cpu = plotted_run("baseline", 0, 100, {2}, {2});
  CHECK_FALSE(
      grader::make_steps({plotted_result({on_cpu}), plotted_result({on_gpu}, "m3")}, "fa23"));
  CHECK_FALSE(grader::make_steps(
      {plotted_result({plotted_run("a", 0, 100, {2}, {2}), plotted_run("b", 1, 1000, {1}, {1})})},
      "fa23"));
}

TEST_CASE("steps: a solution is compared with its own baseline, and names tell solutions apart") {
  const auto baseline = [](double ms) { return plotted_run("baseline", 0, 100, {ms}, {ms}); };
  RunResult faster = plotted_run("faster", 1, 100, {1}, {1});
  faster.stage.baseline = "baseline";
  const auto steps = grader::make_steps({plotted_result({baseline(8), faster}, "m1", "student"),
                                         plotted_result({baseline(2), faster}, "m1", "reference")},
                                        "fa23");
  REQUIRE(steps);
  std::vector<std::string> texts;
  for (const grader::LadderRow& row : steps->rows) {
    texts.push_back(row.cells.at(0).text + " " + row.title);
  }
  // Sorted by stage, then solution: the baselines first, of which neither has one itself.
  CHECK(texts == std::vector<std::string>{"2.00 m1 faster (reference) over m1 baseline (reference)",
                                          "8.00 m1 faster (student) over m1 baseline (student)"});
}

TEST_CASE("ladder: panels share their rows, also where a stage has no time at one batch") {
  const auto ladder = grader::make_ladder(
      {plotted_result({plotted_run("a", 1, 100, {1}, {1}), plotted_run("c", 3, 100, {1}, {1}),
                       plotted_run("a", 1, 1000, {1}, {1}), plotted_run("b", 2, 1000, {1}, {1}),
                       plotted_run("c", 3, 1000, {1}, {1})})},
      "fa23");
  REQUIRE(ladder);
  const std::string text = pictures_of(*ladder).at(0).data.text();
  CHECK(text.find("$names << end_of_data\nStage a\nStage b\nStage c\nend") != std::string::npos);
  // Panel, row, series: the sums of a and b at two batches, of which the first has no b.
  CHECK(text.find("0\t1\t0\t2\t2\t2\n1\t1\t1") != std::string::npos);
  CHECK(text.find("\n0\t2\t") == std::string::npos);
  CHECK(text.find("1\t2\t0\t2\t2\t2\n0\t3\t1") != std::string::npos);
}

TEST_CASE("ladder: two solutions of a stage are two rows, also with one title") {
  const auto ladder =
      grader::make_ladder({plotted_result({plotted_run("a", 1, 100, {1}, {1})}, "m1", "student"),
                           plotted_result({plotted_run("a", 1, 100, {3}, {3})}, "m1", "reference")},
                          "fa23");
  REQUIRE(ladder->rows.size() == 2);
  CHECK(ladder->rows[0].title == ladder->rows[1].title);
  CHECK(ladder->rows[0].cells.at(0).text == "6.00");
}

TEST_CASE("ladder: more batches or stages than a slide holds make several") {
  const convlab::testing::TemporaryFolder folder;
  std::vector<RunResult> runs;
  for (int batch = 1; batch <= 5; ++batch) runs.push_back(plotted_run("a", 1, batch, {1}, {1}));
  const auto slides = [&] {
    return pictures_of(*grader::make_ladder({plotted_result(runs)}, "fa23"));
  };
  CHECK(slides().size() == 2);
  // These have a time at one batch only.
  for (int i = 0; i < 60; ++i) runs.push_back(plotted_run("s" + std::to_string(i), i, 1, {1}, {1}));
  REQUIRE(slides().size() == 3);
  CHECK(slides()[0].name == "op-time-fa23");
  CHECK(slides()[1].name == "op-time-fa23-2");
  CHECK(slides()[2].name == "op-time-fa23-3");
  for (const auto& file : draw(slides()[1], folder.path())) {
    CHECK(std::filesystem::file_size(file) > 1000);
  }
  for (int i = 0; i < 1000; ++i) {
    runs.push_back(plotted_run("t" + std::to_string(i), i, 1, {1}, {1}));
  }
  CHECK_THROWS_AS(slides(), UsageError);
}
