#include "common/result/result.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <fstream>

#include "common/base/whole_file.hpp"
#include "common/device/device_session.hpp"
#include "common/result/result_json.hpp"
#include "convlab_commit.hpp"

namespace convlab {

namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// Counts only the processors that taskset, containers and batch systems leave to this process.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void add_bounds(Result& result, const DeviceLimits& limits) {
  for (const RunResult& run : result.runs) {
    const bool is_known = std::ranges::any_of(result.references, [&](const ReferenceLine& line) {
      return line.label == kMemoryBound && line.network == run.network && line.batch == run.batch;
    });
    if (run.device != Device::kGpu || run.verdict == Verdict::kFailed || is_known) continue;
    ReferenceLine memory{
        .label = kMemoryBound, .kind = "bound", .network = run.network, .batch = run.batch};
    ReferenceLine arithmetic = memory;
    arithmetic.label = kFp32Bound;
    for (const LayerResult& layer : run.layers) {
      const PhysicalBound bound = physical_bound(layer.shape, limits);
      memory.op_ms.push_back(bound.memory_ms);
      arithmetic.op_ms.push_back(bound.ms());
    }
    result.references.push_back(std::move(memory));
    result.references.push_back(std::move(arithmetic));
  }
}

}  // namespace

MachineInfo describe_machine() {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page_size = ::sysconf(_SC_PAGESIZE);
  return {.cpu = cpu_name(),
          .cores = usable_cores(),
          .memory_mib = static_cast<int>(pages * page_size / kMebibyte),
          .gpu = {},
          .driver = {},
          .compiler = CONVLAB_COMPILER,
          .build_type = CONVLAB_BUILD_TYPE,
          .commit = kCommit};
}

void add_device(Result& result, const MeasuredDevice& device) {
  if (device.info.device != Device::kGpu) return;
  MachineInfo& machine = result.machine;
  machine.gpu = device.info.name;
  machine.driver = device.info.driver;
  machine.cuda = device.info.runtime;
  machine.gpu_clock_mhz = device.info.clock_mhz;
  machine.promised = limits_of(device.info);
  machine.measured = device.limits;
  for (RunResult& run : result.runs) {
    run.start_up_ms = device.start_up_ms;
    run.empty_launch_ms = device.empty_launch_ms;
  }
  const DeviceLimits limits = with_measured(machine.promised, machine.measured);
  if (limits.bytes_per_second > 0.0 && limits.fp32_per_second > 0.0) add_bounds(result, limits);
}

StageInfo info_of(const Stage& stage) {
  return {.id = stage.id,
          .title = stage.title,
          .baseline = stage.baseline,
          .precision = stage.precision,
          .order = stage.order,
          .only_for = stage.only_for};
}

std::string utc_now() {
  return utc_text(std::time(nullptr));
}

std::string utc_text(std::int64_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

std::string to_json(const Result& result) {
  return file_text(Json(result));
}

Result parse_result(const std::string& text, const std::string& name) {
  Result result;
  read_file_text(text, name, [&](const Json& json) { json.get_to(result); });
  return result;
}

void write_result(const std::filesystem::path& file, const Result& result) {
  write_atomically(file, to_json(result));
}

Result read_result(const std::filesystem::path& file) {
  return parse_result(read_text(file), file.string());
}

}  // namespace convlab
