#pragma once

#include <cstddef>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/device/device_session.hpp"

namespace convlab {

/// The places where device memory holds an input array, which a prolog has copied there in one
/// piece or in parts.
struct InputCopies {
  /// Whole images, one behind the other.
  struct Part {
    std::byte* begin = nullptr;
    int first = 0;
    int images = 0;
  };
  std::vector<Part> parts{};
  bool known = false;     ///< there is a record of what is allocated
  bool complete = false;  ///< each image is in one of the parts at least
};

/// Looks for the images of `input` at the beginning of each allocation, and for its first image
/// everywhere. It recognises an image by its first and last four numbers, so they should be random.
InputCopies find_copies(DeviceSession& device, const float* input, const ConvShape& shape);

/// Writes the images of `input` to where find_copies found others.
void overwrite(DeviceSession& device, const InputCopies& copies, const float* input,
               const ConvShape& shape);

}  // namespace convlab
