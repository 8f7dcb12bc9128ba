#include "common/result/add_device.hpp"

#include <algorithm>

#include "common/device/physical_bound.hpp"

namespace convlab {

namespace {

bool has_bound(const Result& result, const RunResult& run) {
  return std::any_of(
      result.references.begin(), result.references.end(), [&](const ReferenceLine& line) {
        return line.label == kMemoryBound && line.network == run.network && line.batch == run.batch;
      });
}

void add_bounds(Result& result, const DeviceLimits& limits) {
  for (const RunResult& run : result.runs) {
    if (run.device != Device::kGpu || run.verdict == Verdict::kFailed || has_bound(result, run)) {
      continue;
    }
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

}  // namespace convlab
