#include "grader/checks/findings/cuda_errors.hpp"

#include <sstream>

namespace convlab::grader {

std::optional<Finding> printed_cuda_error(const std::string& printed, const std::string& where) {
  // Source: cudaGetErrorString and cudaGetErrorName.
  struct Words {
    const char* text;
    const char* name;
    const char* id;
  };
  static constexpr Words kErrors[] = {
      {"an illegal memory access was encountered", "cudaErrorIllegalAddress", "E-outside"},
      {"misaligned address", "cudaErrorMisalignedAddress", "E-outside"},
      {"invalid configuration argument", "cudaErrorInvalidConfiguration", "E-launch"},
      {"too many resources requested for launch", "cudaErrorLaunchOutOfResources", "E-launch"},
      {"out of memory", "cudaErrorMemoryAllocation", "E-memory"},
      {"the launch timed out and was terminated", "cudaErrorLaunchTimeout", "E-timeout"},
      {"invalid argument", "cudaErrorInvalidValue", "E-cuda-call"},
      {"invalid device symbol", "cudaErrorInvalidSymbol", "E-cuda-call"},
      {"invalid copy direction for memcpy", "cudaErrorInvalidMemcpyDirection", "E-cuda-call"},
      {"invalid resource handle", "cudaErrorInvalidResourceHandle", "E-cuda-call"},
      {"unspecified launch failure", "cudaErrorLaunchFailure", "E-outside"},
  };
  std::istringstream lines(printed);
  std::optional<Finding> found;
  for (std::string line; std::getline(lines, line);) {
    for (const Words& error : kErrors) {
      if (line.find(error.text) == std::string::npos &&
          line.find(error.name) == std::string::npos) {
        continue;
      }
      constexpr std::size_t kLongest = 160;
      found = finding(error.id, "In " + where + ": the program checked a CUDA call, printed '" +
                                    line.substr(0, kLongest) + "' and ended.");
    }
  }
  return found;
}

}  // namespace convlab::grader
