#include "common/testing/catch.hpp"
#include "grader/plots/roofline.hpp"

using namespace convlab;

namespace {

RunResult run_of(const std::string& stage, int batch, double op1, double op2) {
  return {.network = "fa23",
          .batch = batch,
          .stage = {.id = stage, .title = "Stage " + stage},
          .device = Device::kGpu,
          .layers = {{.shape = {batch, 4, 1, 86, 86, 7, 1}, .op_ms = {op1}},
                     {.shape = {batch, 16, 4, 40, 40, 7, 1}, .op_ms = {op2}}},
          .verdict = Verdict::kPassed};
}

Result result_of(std::vector<RunResult> runs) {
  Result result{.program = "grader check",
                .milestone = "m2",
                .solution = "reference",
                .created = "2026-11-20T10:00:00Z",
                .machine = {.gpu = "Some GPU", .driver = "13.0", .commit = "abc1234"},
                .runs = std::move(runs)};
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
  const auto roofline = grader::make_roofline(
      {result_of({run_of("a", 100, 1, 1), run_of("a", 10'000, 2, 4), half})}, "fa23");
  REQUIRE(roofline);
  CHECK(roofline->batch == 10'000);
  CHECK(roofline->limits.bytes_per_second == 4e12);    // measured
  CHECK(roofline->limits.fp32_per_second == 67e12);    // promised
  CHECK(roofline->limits.fp16_per_second == 1000e12);  // drawn because of b
  REQUIRE(roofline->layers.size() == 2);
  // 25.09 G operations over 1.32 GB, 72.5 G over 0.996 GB.
  CHECK(roofline->layers[0].intensity == Approx(19.0).epsilon(1e-2));
  CHECK(roofline->layers[1].intensity == Approx(72.8).epsilon(1e-2));
  REQUIRE(roofline->layers[1].points.size() == 2);
  CHECK(roofline->layers[1].points[0].stage == "m2 a");
  CHECK(roofline->layers[1].points[0].operations_per_second == Approx(72.5e9 / 4e-3).epsilon(1e-2));
  CHECK(roofline->caption ==
        "Some GPU, driver 13.0 · network fa23 · batch 10000 · ceilings measured · commit abc1234 "
        "· 2026-11-20");
  const std::string text =
      grader::gnuplot_text(*roofline, grader::PlotFormat::kSvg, "/tmp/roofline.svg");
  CHECK(text.find("memory 4.00 TB/s") != std::string::npos);
  CHECK(text.find("m2 a  18.1") != std::string::npos);
}

TEST_CASE("roofline: none for a CPU, or where the limits are unknown") {
  RunResult on_cpu = run_of("a", 100, 1, 1);
  on_cpu.device = Device::kCpu;
  CHECK_FALSE(grader::make_roofline({result_of({on_cpu})}, "fa23"));
  Result unknown = result_of({run_of("a", 100, 1, 1)});
  unknown.machine.promised = {};
  CHECK_FALSE(grader::make_roofline({unknown}, "fa23"));
  CHECK(grader::make_roofline({result_of({run_of("a", 100, 1, 1)})}, "fa23")
            ->limits.fp16_per_second == 0.0);  // no stage uses them
}
