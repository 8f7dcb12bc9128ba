#pragma once

#include "common/device/device_session.hpp"
#include "common/result/result.hpp"

namespace convlab {

/// Writes the device into the result: the machine, the times that no run contains, and the physical
/// bounds of every network and batch that ran, as reference lines. Nothing for an emulated device.
void add_device(Result& result, const MeasuredDevice& device);

}  // namespace convlab
