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

double beyond(std::int64_t bytes, std::int64_t cache) {
  return static_cast<double>(std::max<std::int64_t>(bytes - cache, 0));
}

}  // namespace

double DeviceLimits::operations_per_second(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32_per_second;
    case Precision::kTf32:
    case Precision::kTf32Truncated:
      return tf32_per_second;
    case Precision::kFp16:
    case Precision::kBf16:  // as fast as half
    case Precision::kBf16Truncated:
    case Precision::kFp16Products:
    case Precision::kFp16Sums:  // tensor cores can keep sums in halves, too
      return fp16_per_second;
  }
  return 0.0;
}

CompulsoryTraffic compulsory_traffic(const ConvShape& shape) {
  const std::int64_t pixels = covered(shape.out_height(), shape.kernel, shape.stride) *
                              covered(shape.out_width(), shape.kernel, shape.stride);
  CompulsoryTraffic traffic;
  traffic.read =
      kElement * (std::int64_t{shape.batch} * shape.in_channels * pixels + shape.weights_size());
  traffic.written = kElement * shape.output_size();
  return traffic;
}

PhysicalBound physical_bound(const ConvShape& shape, const DeviceLimits& limits,
                             Precision precision) {
  const CompulsoryTraffic traffic = compulsory_traffic(shape);
  const auto bytes = static_cast<double>(traffic.bytes());
  PhysicalBound bound;
  bound.memory_ms = milliseconds(bytes, limits.bytes_per_second);
  bound.arithmetic_ms = milliseconds(2.0 * static_cast<double>(shape.multiply_adds()),
                                     limits.operations_per_second(precision));
  const double memory_bytes =
      beyond(traffic.read, limits.cache_bytes) + beyond(traffic.written, limits.cache_bytes);
  bound.impossible_ms = std::max(milliseconds(memory_bytes, limits.bytes_per_second),
                                 milliseconds(bytes, limits.cache_bytes_per_second));
  return bound;
}

}  // namespace convlab
