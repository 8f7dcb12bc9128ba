#include "grader/measure/gpus.hpp"

#include <algorithm>

#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

using convlab::from_json;

static void json_fields(JsonFields& fields, MultiprocessorLimits& limits) {
  fields("threads", limits.threads, "blocks", limits.blocks, "shared_kib", limits.shared_kib,
         "reserved_kib", limits.reserved_kib);
}

static void json_fields(JsonFields& fields, Gpu& gpu) {
  fields("name", gpu.name, "capability", gpu.capability, "multiprocessors", gpu.multiprocessors,
         "clock_mhz", gpu.clock_mhz, "dram_gb_per_s", gpu.dram_gb_per_s, "fp32_tflops",
         gpu.fp32_tflops, "fp16_tensor_tflops", gpu.fp16_tensor_tflops);
  gpu.tf32_tensor_tflops = gpu.fp16_tensor_tflops;
  fields.defaulted("tf32_tensor_tflops", gpu.tf32_tensor_tflops);
}

Json measure_file(const std::string& name) {
  return parse_json(read_text(workbook_folder() / "grader/measure" / name));
}

const std::vector<Gpu>& published_gpus() {
  static const std::vector<Gpu> gpus = [] {
    const auto json = measure_file("gpus.json");
    auto all = json.at("gpus").get<std::vector<Gpu>>();
    for (Gpu& gpu : all) json.at("capabilities").at(gpu.capability).get_to(gpu.multiprocessor);
    return all;
  }();
  return gpus;
}

ResidentBlocks resident_blocks(const MultiprocessorLimits& limits, int warps,
                               std::int64_t shared_bytes, int registers) {
  constexpr int kWarp = 32;
  constexpr int kRegisters = 65536;
  constexpr int kAtATime = 256;  // a warp gets so many
  constexpr std::int64_t kKiB = 1024;
  ResidentBlocks resident{.blocks = limits.blocks, .limited_by = "blocks"};
  const auto limit = [&](std::int64_t blocks, const char* by) {
    if (blocks < resident.blocks) resident = {.blocks = static_cast<int>(blocks), .limited_by = by};
  };
  limit(limits.threads / std::max(kWarp, warps * kWarp), "threads");
  if (shared_bytes > 0) {
    limit(limits.shared_kib * kKiB / (shared_bytes + limits.reserved_kib * kKiB), "shared memory");
  }
  if (registers > 0) {
    const int of_warp = (registers * kWarp + kAtATime - 1) / kAtATime * kAtATime;
    limit(kRegisters / (of_warp * std::max(1, warps)), "registers");
  }
  resident.share = static_cast<double>(resident.blocks) * warps * kWarp / limits.threads;
  if (resident.share >= 1.0) resident.limited_by = "threads";
  return resident;
}

}  // namespace convlab::grader
