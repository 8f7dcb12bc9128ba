#pragma once

#include "common/device/device_info.hpp"
#include "common/device/physical_floor.hpp"

namespace convlab {

/// Measures the open device: a copy within its memory, and kernels of nothing but multiply-adds.
/// These are the ceilings of a roofline. A limit that cannot be measured stays 0.
DeviceLimits measure_limits(const DeviceInfo& info);

}  // namespace convlab
