#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convlab {

/// What one kernel, one function of the CUDA API, or all copies of one direction took altogether.
struct ProfileEntry {
  std::string name{};  ///< of copies "host to device", …
  int calls = 0;
  std::int64_t nanoseconds = 0;
  std::int64_t bytes = 0;  ///< of copies
};

/// Where the time of a program went.
struct Profile {
  std::vector<ProfileEntry> kernels{};    ///< time on the GPU
  std::vector<ProfileEntry> api_calls{};  ///< time on the host
  std::vector<ProfileEntry> copies{};     ///< time on the GPU
  bool timed = true;                      ///< false: counts only, from an emulated device
};

/// The tables that a report needs: kernels and API calls by their share of the time, largest first,
/// with the cumulative share and a line where it passes 90 %; copies with sizes and rates. Without
/// times: counts and sizes.
std::string profile_text(const Profile& profile);

}  // namespace convlab
