#include "grader/checks/findings/course_findings.hpp"

#include <cmath>
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
       "The number of blocks was rounded down. ceil(W_out / TILE) does not help: the integer "
       "division has rounded down before ceil is called.",
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

namespace {

// Whether a usual tile leaves exactly these lines out, or none is left out.
bool is_part_of_tile(int first_left_out, int lines) {
  if (first_left_out == lines) return true;
  for (const int tile : {4, 8, 10, 12, 14, 16, 20, 24, 28, 32, 64}) {
    if (first_left_out % tile == 0 && lines - first_left_out < tile) return true;
  }
  return false;
}

// The first of the lines at the end that are wrong everywhere; `lines` if there is none.
int first_of_last_lines(const std::vector<std::int64_t>& counts, std::int64_t per_line) {
  auto first = static_cast<int>(counts.size());
  while (first > 0 && counts[static_cast<std::size_t>(first) - 1] == per_line) --first;
  return first;
}

}  // namespace

bool leaves_out_last_tile(const WrongOutput& wrong) {
  const ConvShape& shape = wrong.shape;
  const oracle::ErrorReport& report = wrong.report;
  const int rows = shape.out_height();
  const int columns = shape.out_width();
  const int row = first_of_last_lines(report.wrong_in_row, shape.output_size() / rows);
  const int column = first_of_last_lines(report.wrong_in_column, shape.output_size() / columns);
  const std::int64_t written = std::int64_t{row} * column * shape.batch * shape.out_channels;
  if (report.wrong != shape.output_size() - written || report.wrong == 0 || written == 0) {
    return false;
  }
  if (!is_part_of_tile(row, rows) || !is_part_of_tile(column, columns)) return false;
  // Zeros of fresh memory, or a NaN: not the result of other loops.
  for (std::int64_t i = 0; i < shape.output_size(); ++i) {
    const bool is_right = i / columns % rows < row && i % columns < column;
    const float value = wrong.arrays.output[i];
    if (!is_right && value != 0.0F && std::isfinite(value)) return false;
  }
  return true;
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
