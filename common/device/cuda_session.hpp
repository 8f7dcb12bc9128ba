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

/// Starts to record kernels, copies and calls of the CUDA runtime through CUPTI, NVIDIA's profiling
/// interface. The library is loaded only now.
/// @throws EnvironmentError if CUPTI is missing or does not work
void start_cupti_profile();

/// What has been recorded since start_cupti_profile.
Profile stop_cupti_profile();

/// The memory that was allocated and not freed during the last profile; empty without CUPTI.
std::vector<MemoryRange> profiled_memory();

}  // namespace convlab
