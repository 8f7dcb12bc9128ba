#pragma once

#include "common/device/device_info.hpp"
#include "common/device/physical_floor.hpp"

namespace convlab {

/// What a copy within the device's memory, and kernels of nothing but multiply-adds reach on the
/// open device: the ceilings of a roofline. What cannot be measured stays 0.
DeviceLimits measure_limits(const DeviceInfo& info);

}  // namespace convlab
