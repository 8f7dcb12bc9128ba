#pragma once

#include <cstddef>

namespace convlab::emulation {

/// Tells the runtime of a __device__ or __constant__ variable. The rewrite puts one behind each.
/// On a GPU a source file is a module of its own, and the limit on constant memory is a module's.
class DeviceSymbol {
 public:
  DeviceSymbol(const char* name, const void* address, std::size_t bytes, bool constant,
               const char* file = __builtin_FILE());
  DeviceSymbol(const DeviceSymbol&) = delete;
  DeviceSymbol& operator=(const DeviceSymbol&) = delete;
};

}  // namespace convlab::emulation
