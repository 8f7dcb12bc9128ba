#pragma once

#include <memory>

#include "common/device/device_session.hpp"

namespace convlab {

/// Opens the first CUDA device and loads all kernels of this program onto it. In an emulated
/// program it opens the emulated device.
/// @throws DeviceError (exit code 3) in one sentence if no device answers
std::unique_ptr<DeviceSession> open_cuda_session();

}  // namespace convlab
