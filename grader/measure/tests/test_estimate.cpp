#include <algorithm>
#include <cmath>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "grader/measure/counters.hpp"
#include "grader/measure/estimate.hpp"

namespace convlab::grader {
namespace {

// Every constant 1, so that a ceiling is a quotient.
EstimateModel plain() {
  return {.memory = 1.0,
          .multiply = 1.0,
          .tensor = 1.0,
          .global_request = 1.0,
          .shared_request = 1.0,
          .constant_word = 1.0,
          .latency = 1.0,
          .launch = 1e-6,
          .power = 2.0,
          .tested = {"tested"}};
}

// A clock of 1 Hz, so that a pass takes a second on one of two multiprocessors.
Gpu slow() {
  return {.name = "slow",
          .multiprocessor = {.threads = 64, .blocks = 4, .shared_kib = 1},
          .multiprocessors = 2,
          .clock_mhz = 1e-6,
          .dram_gb_per_s = 100e-9,
          .fp32_tflops = 64e-12,
          .fp16_tensor_tflops = 1000e-12,
          .tf32_tensor_tflops = 500e-12};
}

double limit_of(const Estimate& estimate, const std::string& name) {
  for (const LimitTime& limit : estimate.limits) {
    if (limit.name == name) return limit.seconds;
  }
  return -1.0;
}

TEST_CASE("estimate: each ceiling is work over a published limit, for the whole batch") {
  const KernelWork work{.dram_bytes = 10.0,
                        .global_requests = 6.0,
                        .global_passes = 8.0,
                        .shared_requests = 2.0,
                        .shared_passes = 4.0,
                        .constant_words = 8.0,
                        .multiply_warps = 3.0,
                        .tensor_multiply_adds = 100.0,
                        .barriers = 2.0,
                        .warps = 1.0,
                        .block_warps = 1.0,
                        .launches = 3.0};
  const Estimate ten = estimate({work}, Precision::kFp16, slow(), plain(), 10);
  CHECK(limit_of(ten, "memory") == Approx(1.0));
  CHECK(limit_of(ten, "cache") == Approx(40.0));
  CHECK(limit_of(ten, "shared memory") == Approx(20.0));
  // 3 · 32 · 2 operations of 64 a second, and 16 instructions, 4 a clock and multiprocessor.
  CHECK(limit_of(ten, "issue and FP32") == Approx(10.0 * (3.0 + 2.0)));
  CHECK(limit_of(ten, "tensor cores") == Approx(2.0));
  // 8 requests of global memory and barriers of each image; ten warps, of which two multiprocessors
  // hold four.
  CHECK(limit_of(ten, "latency") == Approx(10.0 * 8.0 / 4.0));
  CHECK(limit_of(ten, "launches") == Approx(4e-6));  // three, and the call
  CHECK(ten.seconds == Approx(std::sqrt(1.0 + 1600.0 + 400.0 + 2500.0 + 4.0 + 400.0) + 4e-6));
  CHECK(ten.low == Approx(ten.seconds / 2.0));
  CHECK(ten.high == Approx(ten.seconds * 2.0));
  CHECK(ten.limits.front().name == "issue and FP32");
  CHECK(limited_by(ten) == "issue and FP32, cache");  // 40 is 80 % of 50
  CHECK_FALSE(ten.is_tested);
  CHECK(limit_of(estimate({work}, Precision::kTf32, slow(), plain(), 10), "tensor cores") ==
        Approx(4.0));
  // Two kernels run one after the other.
  CHECK(estimate({work, work}, Precision::kFp16, slow(), plain(), 10).seconds ==
        Approx(2.0 * ten.seconds - 1e-6));
}

TEST_CASE("estimate: one limit is named if the second is further away") {
  const KernelWork work{.global_passes = 10.0, .shared_passes = 7.0, .warps = 1.0};
  const Estimate one = estimate({work}, Precision::kFp32, slow(), plain(), 1);
  CHECK(limited_by(one) == "cache");
}

TEST_CASE("estimate: latency is named, too, if the registers leave few warps") {
  KernelWork work{.multiply_warps = 1e9, .warps = 1e6, .block_warps = 4.0};
  const auto limit = [&](int registers) {
    work.registers = registers;
    const auto h100 = std::ranges::find(published_gpus(), "H100", &Gpu::name);
    return limited_by(estimate({work}, Precision::kFp32, *h100, plain(), 1));
  };
  CHECK(limit(0) == "issue and FP32");
  CHECK(limit(128) == "issue and FP32");           // 4 blocks of 4 warps
  CHECK(limit(129) == "issue and FP32, latency");  // 3 blocks
}

TEST_CASE("estimate: work is that of the counted requests") {
  StageCounts counts{.shape = {1, 1, 1, 10, 10, 1, 1}};
  counts.launches = {{.kernel = "conv", .grid = {2, 1, 1}, .block = {40, 1, 1}}};
  const AccessNote load{.kernel = "conv",
                        .space = "global",
                        .memory = {.argument = 1, .bytes = 400},
                        .bytes = 4,
                        .requests = 10,
                        .lanes = 200,
                        .parts = 80};
  counts.counted.accesses = {load, load};
  counts.counted.accesses[1].memory.bytes = 10'000;
  counts.counted.accesses[1].memory.argument = 2;
  counts.counted.products = {
      {.kernel = "conv", .kind = "tensor", .multiply_adds = 40},
      {.kernel = "conv", .kind = "float", .multiply_adds = 60, .warp_operations = 3},
      {.kernel = "other", .kind = "float", .multiply_adds = 60, .warp_operations = 3}};
  const auto all = work_of(counts, SourceText{});
  REQUIRE(all.size() == 1);
  CHECK(all[0].dram_bytes == 400.0 + 80.0 * 32.0);  // no array more than once
  CHECK(all[0].global_passes == 2.0 * 20.0);        // four sectors each
  CHECK(all[0].warps == 4.0);
  CHECK(all[0].multiply_warps == 3.0);
  CHECK(all[0].tensor_multiply_adds == 40.0);
}

TEST_CASE("estimate: every published GPU has all numbers, and the model its constants") {
  const auto& gpus = published_gpus();
  CHECK(gpus.size() == 9);
  for (const Gpu& gpu : gpus) {
    INFO(gpu.name);
    CHECK(gpu.multiprocessor.shared_kib > 0);
    CHECK(gpu.dram_gb_per_s > 100.0);
    CHECK(gpu.tf32_tensor_tflops > 0.0);
    // 64 or 128 lanes a multiprocessor, as far as the peak is rounded.
    const double lanes = gpu.fp32_tflops / (2e-6 * gpu.clock_mhz * gpu.multiprocessors);
    CHECK((std::abs(lanes - 64.0) < 1.0 || std::abs(lanes - 128.0) < 1.5));
  }
  const EstimateModel& model = estimate_model();
  CHECK(model.low < 1.0);
  CHECK(model.high > 1.0);
  CHECK(model.power >= 1.0);
  CHECK_FALSE(model.error.empty());
  CHECK_FALSE(model.tested.empty());
}

TEST_CASE("estimate: the model is the one that was fitted") {
  const std::string root = CONVLAB_SOURCE_DIR;
  const auto read = [&](const char* file) { return Json::parse(read_text(root + "/" + file)); };
  const auto asked = read("reference/results/calibration/work.json");
  const auto examples = read("grader/measure/estimate.json").at("examples");
  for (const auto& [stage, times] : examples.items()) {
    const auto work = asked.at(stage).at("kernels").get<std::vector<KernelWork>>();
    const Precision precision = parse_precision(asked.at(stage).at("precision").get<std::string>());
    for (std::size_t i = 0; i < times.size(); ++i) {
      INFO(stage << " on " << published_gpus()[i].name);
      const Estimate found = estimate(work, precision, published_gpus()[i], estimate_model(), 1000);
      CHECK(1e3 * found.seconds == Approx(times[i].get<double>()).epsilon(1e-6));
    }
  }
}

}  // namespace
}  // namespace convlab::grader
