#include "common/device/physical_bound.hpp"

#include <algorithm>

namespace convlab {

namespace {

constexpr std::int64_t kElement = sizeof(float);

double milliseconds(double amount, double per_second) {
  return per_second > 0.0 ? 1e3 * amount / per_second : 0.0;
}

// Rows (or columns) that windows cover: all between the first and the last, unless a stride beyond
// the kernel skips some.
std::int64_t covered(int positions, int kernel, int stride) {
  return std::int64_t{positions - 1} * std::min(kernel, stride) + kernel;
}

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

double DeviceLimits::operations_per_second(Precision precision) const {
  if (precision == Precision::kFp32) return fp32_per_second;
  const bool is_tf32 = precision == Precision::kTf32 || precision == Precision::kTf32Truncated;
  // Tensor cores are as fast with bfloat16 as with halves, and can keep sums in halves, too.
  return is_tf32 ? tf32_per_second : fp16_per_second;
}

DeviceLimits limits_of(const DeviceInfo& info) {
  DeviceLimits limits;
  if (info.device != Device::kGpu) return limits;
  constexpr double kMega = 1e6;
  constexpr double kTransfersPerClock = 2.0;  // of the clock that CUDA reports, for every memory
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
  for (double DeviceLimits::*const which :
       {&DeviceLimits::bytes_per_second, &DeviceLimits::cache_bytes_per_second,
        &DeviceLimits::fp32_per_second, &DeviceLimits::tf32_per_second,
        &DeviceLimits::fp16_per_second}) {
    double& limit = promised.*which;
    const double value = measured.*which;
    if (value > 0.0 && (value <= limit || limit == 0.0)) limit = value;
  }
  return promised;
}

CompulsoryTraffic compulsory_traffic(const ConvShape& shape) {
  const std::int64_t pixels = covered(shape.out_height(), shape.kernel, shape.stride) *
                              covered(shape.out_width(), shape.kernel, shape.stride);
  return {.read = kElement *
                  (std::int64_t{shape.batch} * shape.in_channels * pixels + shape.weights_size()),
          .written = kElement * shape.output_size()};
}

PhysicalBound physical_bound(const ConvShape& shape, const DeviceLimits& limits,
                             Precision precision) {
  const CompulsoryTraffic traffic = compulsory_traffic(shape);
  const auto bytes = static_cast<double>(traffic.bytes());
  const std::int64_t beyond_cache = std::max<std::int64_t>(traffic.read - limits.cache_bytes, 0) +
                                    std::max<std::int64_t>(traffic.written - limits.cache_bytes, 0);
  return {.memory_ms = milliseconds(bytes, limits.bytes_per_second),
          .arithmetic_ms = milliseconds(2.0 * static_cast<double>(shape.multiply_adds()),
                                        limits.operations_per_second(precision)),
          .impossible_ms =
              std::max(milliseconds(static_cast<double>(beyond_cache), limits.bytes_per_second),
                       milliseconds(bytes, limits.cache_bytes_per_second))};
}

}  // namespace convlab
