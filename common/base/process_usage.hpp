#pragma once

namespace convlab {

/// What a process has used since it started: the course's "total execution time".
struct ProcessUsage {
  double user_s = 0.0;
  double system_s = 0.0;
  double elapsed_s = 0.0;
  double peak_memory_mib = 0.0;
};

/// The usage of this process.
ProcessUsage process_usage();

}  // namespace convlab
