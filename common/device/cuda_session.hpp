#pragma once

#include <memory>

#include "common/device/device_session.hpp"

namespace convlab {

/// Opens the first CUDA device and loads all kernels of this program onto it. In an emulated
/// program it opens the emulated device.
/// @throws DeviceError (exit code 3) in one sentence if no device answers
std::unique_ptr<DeviceSession> open_cuda_session();

/// Measures the open GPU: a copy within its memory, and kernels that only multiply and add. These
/// are the limits of a roofline. A limit that cannot be measured stays 0.
DeviceLimits measure_limits(const DeviceInfo& info);

}  // namespace convlab
