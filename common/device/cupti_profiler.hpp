#pragma once

#include "common/device/profile.hpp"

namespace convlab {

/// Records kernels, copies and calls of the CUDA runtime from now on, through CUPTI, NVIDIA's
/// profiling interface. The library is loaded when this is called.
/// @throws EnvironmentError where CUPTI is missing or does not work
void start_cupti_profile();

/// What has been recorded since start_cupti_profile.
Profile stop_cupti_profile();

}  // namespace convlab
