#include "common/result/add_device.hpp"

#include <algorithm>

#include "common/device/device_limits.hpp"

namespace convlab {

namespace {

bool has_floor(const Result& result, const RunResult& run) {
  return std::any_of(
      result.references.begin(), result.references.end(), [&](const ReferenceLine& line) {
        return line.label == kMemoryFloor && line.network == run.network && line.batch == run.batch;
      });
}

void add_floors(Result& result, const DeviceLimits& limits) {
  for (const RunResult& run : result.runs) {
    if (run.device != Device::kGpu || run.verdict == Verdict::kFailed || has_floor(result, run)) {
      continue;
    }
    ReferenceLine memory{
        .label = kMemoryFloor, .kind = "floor", .network = run.network, .batch = run.batch};
    ReferenceLine arithmetic = memory;
    arithmetic.label = kFp32Floor;
    for (const LayerResult& layer : run.layers) {
      const PhysicalFloor floor = physical_floor(layer.shape, limits);
      memory.op_ms.push_back(floor.memory_ms);
      arithmetic.op_ms.push_back(floor.ms());
    }
    result.references.push_back(std::move(memory));
    result.references.push_back(std::move(arithmetic));
  }
}

}  // namespace

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
  if (limits.bytes_per_second > 0.0 && limits.fp32_per_second > 0.0) add_floors(result, limits);
}

}  // namespace convlab
