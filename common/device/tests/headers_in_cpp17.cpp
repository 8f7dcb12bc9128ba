// CUDA 11 compiles C++17: what .cu files include keeps to it.
#include "common/device/cuda_session.hpp"
#include "common/device/gpu_driver.hpp"
#include "common/device/recorded_allocations.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"
