#pragma once

#include <string>

#include "common/device/physical_bound.hpp"

namespace convlab {

/// The description of a machine that a reader needs to compare two times.
struct MachineInfo {
  std::string cpu{};  ///< the processor's name
  int cores = 0;      ///< threads that this process may use
  int memory_mib = 0;
  std::string gpu{};        ///< empty without a GPU
  std::string driver{};     ///< the highest CUDA version that the driver supports, "13.0"
  std::string cuda{};       ///< version of the CUDA Toolkit that the program was built with
  int gpu_clock_mhz = 0;    ///< highest clock of the GPU's multiprocessors
  DeviceLimits promised{};  ///< by the GPU's properties
  DeviceLimits measured{};  ///< on this GPU
  std::string compiler{};
  std::string build_type{};  ///< "Release"
  std::string commit{};      ///< of the source that was built, "-dirty" if it had changes

  friend bool operator==(const MachineInfo&, const MachineInfo&) = default;
};

/// This machine and this build; the GPU's fields stay empty.
MachineInfo describe_machine();

}  // namespace convlab
