#include "common/device/device_limits.hpp"

namespace convlab {

namespace {

/// Multiply-adds of a multiprocessor in each clock.
struct Units {
  ComputeCapability from;  ///< the first capability that has them
  int fp32 = 0;
  int tf32 = 0;
  int fp16 = 0;
};

constexpr Units kUnits[] = {
    {{5, 0}, 128, 0, 0},       {{6, 0}, 64, 0, 0},         {{6, 1}, 128, 0, 0},
    {{7, 0}, 64, 0, 512},      {{8, 0}, 64, 512, 1024},    {{8, 6}, 128, 256, 512},
    {{9, 0}, 128, 1024, 2048}, {{10, 0}, 128, 2048, 4096}, {{12, 0}, 128, 256, 512},
};

Units units_of(ComputeCapability capability) {
  Units units = kUnits[0];
  for (const Units& candidate : kUnits) {
    if (!(capability < candidate.from)) units = candidate;
  }
  return units;
}

}  // namespace

DeviceLimits limits_of(const DeviceInfo& info) {
  DeviceLimits limits;
  if (info.device != Device::kGpu) return limits;
  constexpr double kMega = 1e6;
  constexpr double kTransfersPerClock =
      2.0;  // for every kind of memory, in terms of the clock that CUDA reports
  limits.bytes_per_second =
      kTransfersPerClock * info.memory_clock_mhz * kMega * info.memory_bus_bits / 8.0;
  const double clocks = kMega * info.clock_mhz * info.multiprocessors;  // of all, in a second
  constexpr double kBytesPerClock = 64.0 + 64.0;  // to and from a multiprocessor, at most
  limits.cache_bytes_per_second = kBytesPerClock * clocks;
  limits.cache_bytes = info.l2_bytes;
  const Units units = units_of(info.capability);
  limits.fp32_per_second = 2.0 * units.fp32 * clocks;
  // Without tensor cores for a precision the usual units compute its products.
  limits.tf32_per_second = 2.0 * (units.tf32 > 0 ? units.tf32 : units.fp32) * clocks;
  limits.fp16_per_second = 2.0 * (units.fp16 > 0 ? units.fp16 : units.fp32) * clocks;
  return limits;
}

DeviceLimits with_measured(DeviceLimits promised, const DeviceLimits& measured) {
  const auto take = [](double& limit, double value) {
    if (value > 0.0 && (value <= limit || limit == 0.0)) limit = value;
  };
  take(promised.bytes_per_second, measured.bytes_per_second);
  take(promised.cache_bytes_per_second, measured.cache_bytes_per_second);
  take(promised.fp32_per_second, measured.fp32_per_second);
  take(promised.tf32_per_second, measured.tf32_per_second);
  take(promised.fp16_per_second, measured.fp16_per_second);
  return promised;
}

}  // namespace convlab
