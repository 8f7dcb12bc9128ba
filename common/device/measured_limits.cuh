#pragma once

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/device_buffer.cuh"
#include "common/device/device_info.hpp"
#include "common/device/physical_bound.hpp"

namespace convlab {

/// Measures the open device: a copy within its memory, and kernels that only multiply and add.
/// These are the limits of a roofline. A limit that cannot be measured stays 0.
DeviceLimits measure_limits(const DeviceInfo& info);

/// A copy of a convolution's own bytes, see DeviceSession::measure_tile_copy.
class TileCopy {
 public:
  explicit TileCopy(const ConvShape& shape);

  /// False if the device has no room for the arrays.
  [[nodiscard]] bool fits() const { return to_.size() > 0; }

  /// Starts the copy.
  void run();

 private:
  std::int64_t tiles_;
  int read_bytes_;  // of a tile
  int written_bytes_;
  DeviceBuffer<char> from_;
  DeviceBuffer<char> to_;
};

}  // namespace convlab
