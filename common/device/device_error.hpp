#pragma once

#include <string>

#include "common/base/error.hpp"
#include "common/base/fault_record.hpp"

namespace convlab {

/// A call of the CUDA runtime that failed, or a kernel that did.
class DeviceError : public Error {
 public:
  DeviceError(ExitCode exit_code, const std::string& message,
              FaultKind kind = FaultKind::kException)
      : Error(exit_code, message), kind_(kind) {}

  [[nodiscard]] FaultKind kind() const noexcept { return kind_; }

 private:
  FaultKind kind_;
};

}  // namespace convlab
