#pragma once

#include <string>

#include "common/device/physical_floor.hpp"

namespace convlab {

/// What a reader must know to compare two times.
struct MachineInfo {
  std::string cpu{};  ///< the name that the processor gives itself
  int cores = 0;      ///< threads that this process may use
  int memory_mib = 0;
  std::string gpu{};        ///< empty where no GPU took part
  std::string driver{};     ///< of the GPU: the highest CUDA version that it serves, "13.0"
  std::string cuda{};       ///< version of the CUDA Toolkit that the program was built with
  int gpu_clock_mhz = 0;    ///< highest clock of the GPU's multiprocessors
  DeviceLimits promised{};  ///< by the GPU's properties
  DeviceLimits measured{};  ///< on this very GPU
  std::string compiler{};
  std::string build_type{};  ///< "Release"
  std::string commit{};      ///< of the source that was built, "-dirty" where it had changes

  friend bool operator==(const MachineInfo&, const MachineInfo&) = default;
};

/// This machine and this build; the GPU's fields stay empty.
MachineInfo describe_machine();

}  // namespace convlab
