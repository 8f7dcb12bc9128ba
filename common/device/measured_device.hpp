#pragma once

#include "common/device/device_info.hpp"
#include "common/device/device_session.hpp"
#include "common/device/physical_bound.hpp"

namespace convlab {

/// A device and the measurements on it that a reader of times needs.
struct MeasuredDevice {
  DeviceInfo info{};
  DeviceLimits limits{};         ///< as measured; zeros on an emulated device
  double start_up_ms = 0.0;      ///< context and loading of kernels, in no other time
  double empty_launch_ms = 0.0;  ///< a kernel that does nothing, by the same clock as an op time
};

/// Measures what the device's properties do not say; takes about ten milliseconds on a GPU.
MeasuredDevice measure(DeviceSession& device);

}  // namespace convlab
