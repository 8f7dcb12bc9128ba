#pragma once

#include <functional>

#include "common/base/conv_shape.hpp"
#include "common/device/device_info.hpp"
#include "common/device/physical_bound.hpp"

namespace convlab {

/// Measures the open device: a copy within its memory, and kernels that only multiply and add.
/// These are the limits of a roofline. A limit that cannot be measured stays 0.
DeviceLimits measure_limits(const DeviceInfo& info);

/// Measures DeviceSession::measure_tile_copy. @param time  milliseconds of what it calls
double measure_tile_copy(const ConvShape& shape,
                         const std::function<double(const std::function<void()>&)>& time);

}  // namespace convlab
