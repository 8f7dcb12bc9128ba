#include "common/device/measured_device.hpp"

namespace convlab {

MeasuredDevice measure(DeviceSession& device) {
  if (device.info().device != Device::kGpu) return {.info = device.info()};
  return {.info = device.info(),
          .limits = device.measure_limits(),
          .start_up_ms = device.start_up_ms(),
          .empty_launch_ms = device.time_empty_launch().score_ms()};
}

}  // namespace convlab
