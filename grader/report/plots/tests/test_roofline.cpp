#include <algorithm>

#include "common/base/tests/support/catch.hpp"
#include "grader/report/plots/result_figures.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

using namespace convlab;

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

std::optional<grader::Figure> roofline(const Result& result) {
  const auto figures = grader::figures_of({result}, "fa23");
  return figures.back().name == "roofline-fa23" ? std::optional(figures.back()) : std::nullopt;
}

}  // namespace

TEST_CASE("roofline: the stages of the largest batch, by operations and compulsory bytes") {
  RunResult half = run_of("b", 10'000, 1, 1);
  half.stage.precision = Precision::kFp16;
  const auto picture =
      roofline(result_of({run_of("a", 100, 1, 1), run_of("a", 10'000, 2, 4), half}));
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

TEST_CASE("roofline: none for a CPU, or where the limits are unknown") {
  RunResult on_cpu = run_of("a", 100, 1, 1);
  on_cpu.device = Device::kCpu;
  CHECK_FALSE(roofline(result_of({on_cpu})));
  Result unknown = result_of({run_of("a", 100, 1, 1)});
  unknown.machine.promised = {};
  CHECK_FALSE(roofline(unknown));
  // No stage uses tensor cores.
  const auto plain = roofline(result_of({run_of("a", 100, 1, 1)}));
  for (const grader::Label& label : plain->labels) CHECK(label.text.find("fp16") != 0);
}
