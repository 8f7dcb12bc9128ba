// Replaces cupti_profiler.cpp if the CUDA Toolkit has no CUPTI.

#include "common/base/error.hpp"
#include "common/device/cupti_profiler.hpp"

namespace convlab {

void start_cupti_profile() {
  throw EnvironmentError(
      "This build cannot profile, because cupti.h was not found: install the part of the CUDA "
      "Toolkit that has it (extras/CUPTI, package cuda-cupti-dev) and configure again.");
}

Profile stop_cupti_profile() {
  return {};
}

std::vector<MemoryRange> profiled_memory() {
  return {};
}

}  // namespace convlab
