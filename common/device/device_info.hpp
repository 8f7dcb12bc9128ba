#pragma once

#include <cstdint>
#include <string>

#include "common/base/enum_name.hpp"

namespace convlab {

/// Where a convolution ran. An emulated device has no op time worth showing.
enum class Device { kCpu, kGpu, kEmulated };

inline const char* to_string(Device device) {
  return enum_name(device, {"cpu", "gpu", "emulated"});
}

/// A GPU generation's set of features, "9.0".
struct ComputeCapability {
  int major = 0;
  int minor = 0;
};

constexpr bool operator==(ComputeCapability a, ComputeCapability b) {
  return a.major == b.major && a.minor == b.minor;
}
constexpr bool operator<(ComputeCapability a, ComputeCapability b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

inline std::string to_string(ComputeCapability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

/// The properties that a reader needs to compare two times, and a kernel to choose its sizes.
struct DeviceInfo {
  Device device = Device::kCpu;
  std::string name;  ///< "NVIDIA H200"
  ComputeCapability capability;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int clock_mhz = 0;         ///< highest clock of the multiprocessors
  int memory_clock_mhz = 0;  ///< 0 if the device does not say
  int memory_bus_bits = 0;
  std::string driver;   ///< highest CUDA version that the driver supports, "13.0"
  std::string runtime;  ///< CUDA version that the program was built with, "12.4"
};

/// "12.4" from CUDA's 12040.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace convlab
