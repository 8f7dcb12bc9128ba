#pragma once

#include <cstddef>

namespace convlab::emulation {

// Two views of device memory (show_host, activity.hpp): what a kernel computes from, and what the
// host sees. So an output tells which of the two has computed it.

/// After a copy from device memory to where the host reads it: the host sees its own view.
void show_copied(std::byte* to, const std::byte* from, std::size_t bytes);

/// While it lives, memory of both sides holds what the device sees: for a kernel.
class DeviceView {
 public:
  DeviceView();
  DeviceView(const DeviceView&) = delete;
  DeviceView& operator=(const DeviceView&) = delete;
  ~DeviceView();
};

}  // namespace convlab::emulation
