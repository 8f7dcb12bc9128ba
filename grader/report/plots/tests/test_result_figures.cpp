#include <algorithm>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "grader/report/plots/figure.hpp"
#include "grader/report/plots/result_figures.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

using namespace convlab;
using grader::Figure;
using grader::Mark;

namespace {

// None if the results have no such times.
std::optional<Figure> figure_of(const std::string& name, const std::vector<Result>& results) {
  for (Figure& figure : grader::figures_of(results, "fa23")) {
    if (figure.name == name + "-fa23") return figure;
  }
  return std::nullopt;
}

// The mark of a row in a series of the first panel that has it.
Mark mark_of(const Figure& figure, std::size_t panel, const std::string& label, double row) {
  for (const grader::Series& series : figure.panels.at(panel).series) {
    for (const Mark& mark : series.marks) {
      if (series.label == label && mark.at == row) return mark;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("ladder: a panel per batch, stages in the order of the ladder, medians and quartiles") {
  const auto ladder =
      figure_of("op-time", {plotted_result({plotted_run("b", 2, 1000, {10, 20, 30}, {5}),
                                            plotted_run("a", 1, 1000, {100}, {50}),
                                            plotted_run("a", 1, 100, {1}, {2})})});
  REQUIRE(ladder);
  REQUIRE(ladder->panels.size() == 2);
  CHECK(ladder->panels[0].title == "batch 100");
  CHECK(ladder->panels[1].title == "batch 1 000");
  CHECK(ladder->rows == std::vector<std::string>{"Stage a", "Stage b"});
  CHECK(ladder->panels[0].bars.size() == 1);
  CHECK(ladder->panels[1].bars.size() == 2);
  const Mark first = mark_of(*ladder, 1, "op 1", 1);
  CHECK(first.value == 20);
  CHECK(first.low == 15);
  CHECK(first.high == 25);
  CHECK(mark_of(*ladder, 1, "sum", 1).value == 25);
  CHECK(mark_of(*ladder, 1, "sum", 1).low == 20);
  const Mark& bar = ladder->panels[1].bars[1];
  CHECK(bar.at == 1);
  CHECK(bar.low == 5);
  CHECK(bar.text == "25.0");
  CHECK(ladder->caption ==
        "Some CPU, 2 cores · g++ 12.2 · network fa23 · median of 1 to 3 · "
        "commit abc1234 · 2026-11-20 · bars: middle half");
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
  CHECK_FALSE(figure_of("op-time", results));
}

TEST_CASE("ladder: of two runs of a stage the later file counts, and references are drawn in") {
  Result newer = plotted_result({plotted_run("a", 1, 100, {7}, {7})});
  newer.references = {
      {.label = "library", .kind = "library", .network = "fa23", .batch = 100, .op_ms = {4, 5}},
      {.label = "bound", .kind = "bound", .network = "fa23", .batch = 100, .op_ms = {1, 1}},
      {.label = "other", .kind = "bound", .network = "fa18", .batch = 100, .op_ms = {1, 1}}};
  const auto ladder =
      figure_of("op-time", {plotted_result({plotted_run("a", 1, 100, {1}, {1})}), newer});
  REQUIRE(ladder);
  CHECK(ladder->rows.size() == 1);
  CHECK(mark_of(*ladder, 0, "sum", 0).value == 14);
  REQUIRE(ladder->panels[0].rules.size() == 2);
  CHECK(ladder->panels[0].rules[0].label == "bound 2.00");
  CHECK(ladder->panels[0].rules[0].colour == grader::kBoundColour);
  CHECK(ladder->panels[0].rules[1].value == 9);
  CHECK(ladder->x.low == 2);  // of all that is drawn
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
  const auto steps = figure_of("speed-up", results);
  REQUIRE(steps);
  REQUIRE(steps->panels.size() == 1);
  // Nothing precedes m1; the orphan's baseline is unknown.
  CHECK(steps->rows == std::vector<std::string>{"m2 baseline over m1 baseline",
                                                "m3 tiled over m2 baseline",
                                                "m3 unrolled over m3 tiled"});
  const auto& bars = steps->panels[0].bars;
  CHECK(bars.at(0).text == "25.0");
  CHECK(bars.at(0).low == 1);  // bars begin at the origin
  CHECK(mark_of(*steps, 0, "op 1", 0).value == 50);
  CHECK(bars.at(1).text == "0.500");
  CHECK(bars.at(2).text == "4.00");
  const Mark last = mark_of(*steps, 0, "op 1", 2);
  CHECK(last.value == 2);
  CHECK(last.low == Approx(4 / 2.5));
  CHECK(last.high == Approx(4 / 1.5));
  CHECK(mark_of(*steps, 0, "op 2", 2).value == 5);
}

TEST_CASE("steps: batches apart, never a CPU's stage for a GPU's baseline, none for one stage") {
  RunResult on_gpu = plotted_run("tiled", 10, 100, {1}, {1});
  on_gpu.device = Device::kGpu;
  on_gpu.stage.baseline = "baseline";
  const RunResult on_cpu = plotted_run("baseline", 0, 100, {2}, {2});
  CHECK_FALSE(figure_of("speed-up", {plotted_result({on_cpu}), plotted_result({on_gpu}, "m3")}));
  CHECK_FALSE(figure_of("speed-up", {plotted_result({plotted_run("a", 0, 100, {2}, {2}),
                                                     plotted_run("b", 1, 1000, {1}, {1})})}));
}

TEST_CASE("steps: a solution is compared with its own baseline, and names tell solutions apart") {
  const auto baseline = [](double ms) { return plotted_run("baseline", 0, 100, {ms}, {ms}); };
  RunResult faster = plotted_run("faster", 1, 100, {1}, {1});
  faster.stage.baseline = "baseline";
  const auto steps =
      figure_of("speed-up", {plotted_result({baseline(8), faster}, "m1", "student"),
                             plotted_result({baseline(2), faster}, "m1", "reference")});
  REQUIRE(steps);
  // Sorted by stage, then solution: the baselines first, of which neither has one itself.
  CHECK(steps->rows ==
        std::vector<std::string>{"m1 faster (reference) over m1 baseline (reference)",
                                 "m1 faster (student) over m1 baseline (student)"});
  CHECK(steps->panels[0].bars[0].text == "2.00");
  CHECK(steps->panels[0].bars[1].text == "8.00");
  // Two stages with one title go by their names.
  const auto ladder = figure_of("op-time", {plotted_result({baseline(2)}, "m1", "student"),
                                            plotted_result({baseline(6)}, "m1", "reference")});
  CHECK(ladder->rows ==
        std::vector<std::string>{"m1 baseline (reference)", "m1 baseline (student)"});
}

TEST_CASE("ladder: panels share their rows, also where a stage has no time at one batch") {
  const auto ladder = figure_of(
      "op-time",
      {plotted_result({plotted_run("a", 1, 100, {1}, {1}), plotted_run("c", 3, 100, {1}, {1}),
                       plotted_run("a", 1, 1000, {1}, {1}), plotted_run("b", 2, 1000, {1}, {1}),
                       plotted_run("c", 3, 1000, {1}, {1})})});
  REQUIRE(ladder);
  CHECK(ladder->rows == std::vector<std::string>{"Stage a", "Stage b", "Stage c"});
  CHECK(ladder->panels[0].bars.size() == 2);
  CHECK(ladder->panels[0].bars[1].at == 2);
  const grader::Table table = table_of(*ladder);
  CHECK(table.heading.back() == "batch 1 000 sum");
  CHECK(table.rows.at(1) == std::vector<std::string>{"Stage b", "", "", "", "1", "1", "2"});
}

TEST_CASE("ladder: more stages than a picture can hold are refused") {
  grader::Figure figure{.rows = std::vector<std::string>(65, "s")};
  CHECK_THROWS_AS(grader::draw({figure}, "/nowhere"), UsageError);
}

namespace {

RunResult run_of(const std::string& stage, int batch, double op1, double op2) {
  RunResult run = plotted_run(stage, 0, batch, {op1}, {op2});
  run.device = Device::kGpu;
  run.layers[0].shape = {batch, 4, 1, 86, 86, 7, 1};
  run.layers[1].shape = {batch, 16, 4, 40, 40, 7, 1};
  return run;
}

Result result_of(std::vector<RunResult> runs) {
  Result result = plotted_result(std::move(runs), "m2");
  result.machine.gpu = "Some GPU";
  result.machine.driver = "13.0";
  result.machine.promised.bytes_per_second = 5e12;
  result.machine.promised.fp32_per_second = 67e12;
  result.machine.promised.fp16_per_second = 1000e12;
  result.machine.measured.bytes_per_second = 4e12;
  return result;
}

}  // namespace

TEST_CASE("roofline: the stages of the largest batch, by operations and compulsory bytes") {
  RunResult half = run_of("b", 10'000, 1, 1);
  half.stage.precision = Precision::kFp16;
  const auto picture =
      figure_of("roofline", {result_of({run_of("a", 100, 1, 1), run_of("a", 10'000, 2, 4), half})});
  REQUIRE(picture);
  std::vector<std::string> labels;
  for (const grader::Label& label : picture->labels) labels.push_back(label.text);
  const auto has = [&](const std::string& text) {
    return std::ranges::find(labels, text) != labels.end();
  };
  CHECK(has("memory 4.00 TB/s"));  // measured
  CHECK(has("fp32 67.0"));         // promised
  CHECK(has("fp16 1000"));         // because of b
  CHECK(has("m2 a  12.5"));
  CHECK(has("m2 a  18.1"));
  // Labels to the left stay below the line of the memory; those of b would cover it.
  for (const grader::Label& label : picture->labels) {
    if (!label.to_the_left || !label.text.starts_with("m2 ")) continue;
    const double begin = picture->x.share(label.column) - 0.011 * double(label.text.size());
    CHECK(label.text_y < 4.0 * picture->x.at(begin));
  }
  // 25.09 G operations over 1.32 GB, 72.5 G over 0.996 GB, in 2 and 4 ms.
  const auto& series = picture->panels.at(0).series;
  const auto layer = [&](const std::string& name) {
    return *std::ranges::find(series, name, &grader::Series::label);
  };
  CHECK(layer("op 1").marks.at(0).at == Approx(19.0).epsilon(0.01));
  CHECK(layer("op 2").marks.at(0).at == Approx(72.8).epsilon(0.01));
  CHECK(picture->caption ==
        "Some GPU, driver 13.0 · g++ 12.2 · network fa23 · one sample · commit abc1234 · "
        "2026-11-20 · batch 10\u00a0000, ceilings measured");
}

TEST_CASE("roofline: of many stages it names those that can be told apart") {
  std::vector<RunResult> runs;
  for (int i = 0; i < 20; ++i) {
    const double ms = i < 10 ? 1.0 + 0.001 * i : i;
    runs.push_back(run_of("s" + std::to_string(i), 10'000, ms, ms));
  }
  const auto picture = figure_of("roofline", {result_of(runs)});
  std::vector<std::string> named;
  for (const grader::Label& label : picture->labels) {
    if (label.text.starts_with("m2 ")) named.push_back(label.text.substr(0, label.text.find("  ")));
  }
  CHECK(std::ranges::count(named, "m2 s0") == 2);  // of both convolutions
  CHECK(std::ranges::count(named, "m2 s1") == 0);
  CHECK(std::ranges::count(named, "m2 s10") == 2);
}

TEST_CASE("roofline: none for a CPU, or where the limits are unknown") {
  RunResult on_cpu = run_of("a", 100, 1, 1);
  on_cpu.device = Device::kCpu;
  CHECK_FALSE(figure_of("roofline", {result_of({on_cpu})}));
  Result unknown = result_of({run_of("a", 100, 1, 1)});
  unknown.machine.promised = {};
  CHECK_FALSE(figure_of("roofline", {unknown}));
  // No stage uses tensor cores.
  const auto plain = figure_of("roofline", {result_of({run_of("a", 100, 1, 1)})});
  for (const grader::Label& label : plain->labels) CHECK(label.text.find("fp16") != 0);
}
