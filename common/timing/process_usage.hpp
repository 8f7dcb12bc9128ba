#pragma once

namespace convlab {

/// What the whole process has used since it started: the course's "total execution time".
struct ProcessUsage {
  double user_s = 0.0;
  double system_s = 0.0;
  double elapsed_s = 0.0;
  double peak_memory_mib = 0.0;
};

ProcessUsage process_usage();

}  // namespace convlab
