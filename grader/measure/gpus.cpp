#include "grader/measure/gpus.hpp"

#include <algorithm>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/result/json_fields.hpp"

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

namespace {

std::vector<Gpu> read_gpus() {
  const auto json = measure_file("gpus.json");
  auto gpus = json.at("gpus").get<std::vector<Gpu>>();
  for (Gpu& gpu : gpus) json.at("capabilities").at(gpu.capability).get_to(gpu.multiprocessor);
  return gpus;
}

}  // namespace

Json measure_file(const std::string& name) {
  const auto course = network_folder().parent_path().parent_path();  // of ROOT/common/network
  return parse_json(read_text(course / "grader/measure" / name));
}

const std::vector<Gpu>& published_gpus() {
  static const std::vector<Gpu> gpus = read_gpus();
  return gpus;
}

const Gpu& find_gpu(const std::string& name) {
  std::vector<std::string> known;
  for (const Gpu& gpu : published_gpus()) {
    if (gpu.name == name) return gpu;
    known.push_back(gpu.name);
  }
  throw UsageError(unknown_name("GPU", name, known));
}

ResidentBlocks resident_blocks(const MultiprocessorLimits& limits, int warps,
                               std::int64_t shared_bytes, int registers) {
  constexpr int kWarp = 32;
  constexpr int kRegisters = 65536;
  constexpr int kAtATime = 256;  // a warp gets so many
  constexpr std::int64_t kKiB = 1024;
  ResidentBlocks resident{.blocks = limits.blocks, .limited_by = "blocks"};
  const auto limit = [&](std::int64_t blocks, const char* by) {
    if (blocks < resident.blocks) resident = {static_cast<int>(blocks), by};
  };
  limit(limits.threads / std::max(kWarp, warps * kWarp), "threads");
  if (shared_bytes > 0) {
    limit(limits.shared_kib * kKiB / (shared_bytes + limits.reserved_kib * kKiB), "shared memory");
  }
  if (registers > 0) {
    const int of_warp = (registers * kWarp + kAtATime - 1) / kAtATime * kAtATime;
    limit(kRegisters / (of_warp * std::max(1, warps)), "registers");
  }
  return resident;
}

}  // namespace convlab::grader
