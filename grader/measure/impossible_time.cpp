#include "grader/measure/impossible_time.hpp"

#include <algorithm>
#include <thread>

#include "common/device/device_limits.hpp"
#include "common/device/physical_floor.hpp"

namespace convlab::grader {

double impossible_ms(const SubmissionDevice& device, const ConvShape& shape, Precision precision) {
  switch (device.device) {
    case Device::kEmulated:
      return 0.0;
    case Device::kGpu:
      return physical_floor(shape, limits_of(device.measured.info), precision).impossible_ms;
    case Device::kCpu:
      break;
  }
  // Two units of 16 numbers, each a multiply and an add, at 6 GHz: no processor has more. A
  // transform may save operations, but less than four of five.
  constexpr double kPerCoreAndMs = 2.0 * 16.0 * 2.0 * 6e6;
  constexpr double kSavedByTransforms = 5.0;
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  return 2.0 * static_cast<double>(shape.multiply_adds()) /
         (kPerCoreAndMs * cores * kSavedByTransforms);
}

}  // namespace convlab::grader
