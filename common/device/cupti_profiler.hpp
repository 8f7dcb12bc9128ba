#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/device/profile.hpp"

namespace convlab {

/// Records kernels, copies and calls of the CUDA runtime from now on, through CUPTI, NVIDIA's
/// profiling interface. The library is loaded when this is called.
/// @throws EnvironmentError where CUPTI is missing or does not work
void start_cupti_profile();

/// What has been recorded since start_cupti_profile.
Profile stop_cupti_profile();

/// One allocation of device memory.
struct MemoryRange {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
};

/// What was allocated in the last profile and not freed in it; none where there is no CUPTI.
std::vector<MemoryRange> profiled_memory();

}  // namespace convlab
