#include "common/device/device_session.hpp"

#include <string>

#include "common/error/error.hpp"

namespace convlab {

void require_capability(const DeviceInfo& info, ComputeCapability needed, const char* user) {
  if (!(info.capability < needed)) return;
  throw EnvironmentError(std::string(user) + " needs compute capability " + to_string(needed) +
                         "; this GPU (" + info.name + ") has " + to_string(info.capability) + ".");
}

}  // namespace convlab
