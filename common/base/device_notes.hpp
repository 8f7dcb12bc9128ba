#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/fault_record.hpp"

namespace convlab {

/// An allocation of device memory, or a copy.
struct DeviceTransfer {
  std::string what{};  ///< "allocation", "host to device", "device to host", …
  std::int64_t bytes = 0;

  friend bool operator==(const DeviceTransfer&, const DeviceTransfer&) = default;
};

/// A launch of a kernel.
struct DeviceLaunch {
  std::string kernel{};
  std::string file{};  ///< without its folder
  int line = 0;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  int early = 0;         ///< threads of one block that had ended when the others met in a barrier
  int barrier_line = 0;  ///< of that barrier
  int absent_line = 0;   ///< of a shuffle that took the value of a lane which was not there

  friend bool operator==(const DeviceLaunch&, const DeviceLaunch&) = default;
};

/// Output elements that were never written, or were computed from unwritten memory.
struct PoisonedOutput {
  std::int64_t never_written = 0;  ///< no thread stored anything there
  std::int64_t computed = 0;
  std::string kernel{};  ///< the last one that got `memory`
  FaultMemory memory{};  ///< what the first element of the larger group was computed from

  friend bool operator==(const PoisonedOutput&, const PoisonedOutput&) = default;
};

/// The requests of a program to its device in one run of a stage; only an emulated device knows.
struct DeviceNotes {
  std::vector<DeviceTransfer> transfers{};  ///< the first of them
  std::vector<DeviceLaunch> launches{};     ///< the first of them
  std::int64_t live_bytes = 0;              ///< allocated now
  std::optional<PoisonedOutput> poisoned{};

  friend bool operator==(const DeviceNotes&, const DeviceNotes&) = default;
};

}  // namespace convlab
