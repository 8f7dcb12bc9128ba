#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/host_sleeps.hpp"
#include "common/emulation/runtime/variable_pages.hpp"

namespace convlab::emulation {

/// Makes device memory accessible while it lives: for a kernel, or for a copy.
class DeviceAccess {
 public:
  DeviceAccess();  ///< to all memory that is allocated now
  explicit DeviceAccess(
      std::initializer_list<const void*> addresses);  ///< to the allocations that contain these
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  void open(DeviceMemory& memory, Allocation& allocation);

  HostSleeps host_sleeps_;
  DeviceRights rights_;
  VariableAccess variables_;
  std::vector<const std::byte*> opened_;  ///< by pages
};

}  // namespace convlab::emulation
