#pragma once

#include <cstddef>

namespace convlab::emulation {

/// Tells the runtime of a __device__ or __constant__ variable. The rewrite puts one behind each.
class DeviceSymbol {
 public:
  DeviceSymbol(const char* name, const void* address, std::size_t bytes, bool constant);
  DeviceSymbol(const DeviceSymbol&) = delete;
  DeviceSymbol& operator=(const DeviceSymbol&) = delete;
};

}  // namespace convlab::emulation
