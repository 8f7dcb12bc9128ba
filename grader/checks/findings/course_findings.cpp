#include "grader/checks/findings/course_findings.hpp"

#include <iterator>
#include <sstream>
#include <utility>

namespace convlab::grader {

std::vector<Diagnosis> with_course_diagnoses(std::vector<Diagnosis> diagnoses) {
  std::vector<Diagnosis> more = {
      {"E-empty-grid", "a kernel is launched with no blocks",
       "The number of blocks is a size divided by the tile. Integer division rounds down: an image "
       "smaller than the tile gives 0 blocks.",
       "Round up: (size + tile - 1) / tile."},
      {"E-rounded-down", "the last, incomplete tile is left out",
       "A number of tiles or of vectors is rounded down. ceil(W_out / TILE) does not help: the "
       "integer division has rounded down before ceil is called.",
       "Round up with integers: (W_out + TILE - 1) / TILE. Let threads beyond the border do "
       "nothing."},
      {"E-cuda-call", "a CUDA call fails",
       "The call does not accept one of its arguments: a pointer to the wrong memory, a wrong "
       "size, or a name that is no device symbol.",
       "Compare each argument of this call with the CUDA documentation."},
      {"E-warp-sync", "lanes of a warp read what other lanes wrote, without a barrier",
       "The lanes of a warp need not run in step. On today's GPUs they often do, so the result is "
       "right by luck. CUDA promises nothing without __syncwarp().",
       "Put __syncwarp() (or __syncthreads()) between the line that writes and the line that "
       "reads."},
  };
  std::move(more.begin(), more.end(), std::back_inserter(diagnoses));
  return diagnoses;
}

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
