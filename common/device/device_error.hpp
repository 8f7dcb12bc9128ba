#pragma once

#include <string>

#include "common/error/error.hpp"

namespace convlab {

/// A call of the CUDA runtime that failed, or a kernel that did.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace convlab
