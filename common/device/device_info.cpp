#include "common/device/device_info.hpp"

#include "common/base/enum_name.hpp"

namespace convlab {

const char* to_string(Device device) {
  return enum_name(device, {"cpu", "gpu", "emulated"});
}

std::string to_string(ComputeCapability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace convlab
