#pragma once

#include <filesystem>

#include "common/device/device_info.hpp"

namespace convlab {

/// Compiles a file that implements the course's conv_forward_cpu
/// (common/given_file/course_interface/cpu-new-forward.h) or GPUInterface (gpu-new-forward.h) into
/// a program like m1 or m2, or finds the one that was compiled from the same text before.
/// @param device  kCpu for the first, kGpu or kEmulated for the second
/// @return the program; it lies in the build folder, below sources/
/// @throws UsageError if there is no such file
/// @throws Error (exit code 1) with the compiler's words if it does not compile
std::filesystem::path build_source(const std::filesystem::path& file, Device device);

}  // namespace convlab
