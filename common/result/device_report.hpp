#pragma once

#include "common/device/device_info.hpp"
#include "common/device/device_session.hpp"
#include "common/device/physical_floor.hpp"
#include "common/result/result.hpp"

namespace convlab {

/// What a reader must know about the device on which times were taken.
struct DeviceReport {
  DeviceInfo info{};
  DeviceLimits measured{};       ///< zeros on an emulated device
  double start_up_ms = 0.0;      ///< context and loading of kernels; in no other time
  double empty_launch_ms = 0.0;  ///< a kernel that does nothing, by the same clock as an op time
};

/// Measures what the device's properties do not say. Takes some ten milliseconds on a GPU.
DeviceReport report_of(DeviceSession& device);

/// Writes the report into the result: the machine, what each run leaves out, and the physical
/// floors of every network and batch that ran, as reference lines. Nothing for an emulated device.
void add_to(Result& result, const DeviceReport& report);

}  // namespace convlab
