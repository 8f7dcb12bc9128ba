#include "grader/measure/gpus.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"

namespace convlab::grader {

namespace {

constexpr double kMega = 1e6;
constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr std::int64_t kKiB = 1024;

std::vector<Gpu> read_gpus() {
  const auto course = network_folder().parent_path().parent_path();  // of ROOT/common/network
  const auto json = nlohmann::json::parse(read_text(course / "grader/measure/gpus.json"));
  std::vector<Gpu> gpus;
  for (const auto& each : json.at("gpus")) {
    const auto capability = each.at("capability").get<std::string>();
    const auto& limits = json.at("capabilities").at(capability);
    const auto number = [&](const char* key, double unit) {
      return each.at(key).is_null() ? 0.0 : each.at(key).get<double>() * unit;
    };
    Gpu gpu{.name = each.at("name"),
            .multiprocessor = {.capability = capability,
                               .threads = limits.at("threads"),
                               .blocks = limits.at("blocks"),
                               .shared_bytes = limits.at("shared_kib").get<int>() * kKiB,
                               .reserved_bytes = limits.at("reserved_kib").get<int>() * kKiB},
            .multiprocessors = number("multiprocessors", 1.0),
            .clock = number("clock_mhz", kMega),
            .bytes_per_second = number("dram_gb_per_s", kGiga),
            .fp32_per_second = number("fp32_tflops", kTera),
            .fp16_tensor_per_second = number("fp16_tensor_tflops", kTera),
            .tf32_tensor_per_second = number("tf32_tensor_tflops", kTera)};
    if (gpu.tf32_tensor_per_second <= 0.0) gpu.tf32_tensor_per_second = gpu.fp16_tensor_per_second;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace

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
                               std::int64_t shared_bytes) {
  constexpr int kWarp = 32;
  ResidentBlocks resident{.blocks = limits.blocks, .limited_by = "blocks"};
  const auto limit = [&](std::int64_t blocks, const char* by) {
    if (blocks < resident.blocks) resident = {static_cast<int>(blocks), by};
  };
  limit(limits.threads / std::max(kWarp, warps * kWarp), "threads");
  if (shared_bytes > 0) {
    limit(limits.shared_bytes / (shared_bytes + limits.reserved_bytes), "shared memory");
  }
  return resident;
}

}  // namespace convlab::grader
