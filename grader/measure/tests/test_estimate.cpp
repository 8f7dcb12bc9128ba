#include <algorithm>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "grader/measure/counters.hpp"
#include "grader/measure/estimate.hpp"

namespace convlab::grader {
namespace {

TEST_CASE("estimate: a second limit is named, too, if it is within a fifth of the first") {
  const auto named = [](double second) {
    return limited_by({.limits = {{"cache", 50.0}, {"memory", second}}});
  };
  CHECK(named(40.0) == "cache, memory");
  CHECK(named(39.9) == "cache");
}

TEST_CASE("estimate: latency is named, too, if the registers leave few warps") {
  KernelWork work{.multiply_warps = 1e9, .warps = 1e6, .block_warps = 4.0};
  const auto limit = [&](int registers) {
    work.registers = registers;
    const auto h100 = std::ranges::find(published_gpus(), "H100", &Gpu::name);
    return limited_by(estimate({work}, Precision::kFp32, *h100, estimate_model(), 1));
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
