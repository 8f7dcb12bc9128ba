#pragma once

#include "common/device/device_info.hpp"
#include "common/device/physical_bound.hpp"

namespace convlab {

/// The limits that a GPU's properties promise: memory clock × bus width, multiprocessors × units ×
/// highest clock. Nothing runs faster; copies and kernels reach about nine tenths of it. All zero
/// unless the device is a GPU.
///
/// The units of a multiprocessor follow from the compute capability; a capability newer than this
/// table counts as the newest one in the table. Sources: CUDA C++ Programming Guide, "Throughput of
/// native arithmetic instructions"; NVIDIA's architecture white papers for the tensor cores
/// (dense).
DeviceLimits limits_of(const DeviceInfo& info);

/// The measured limits, or the promised ones if none was measured. A measurement above the promise
/// is wrong and does not count.
DeviceLimits with_measured(DeviceLimits promised, const DeviceLimits& measured);

}  // namespace convlab
