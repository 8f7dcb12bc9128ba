#include "common/base/process_usage.hpp"

#include <sys/resource.h>
#include <sys/time.h>

#include "common/base/stopwatch.hpp"

namespace convlab {

namespace {

// Constructed while the program loads, a few milliseconds after the kernel started it.
const Stopwatch kSinceStart;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

ProcessUsage process_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.user_s = seconds(usage.ru_utime),
          .system_s = seconds(usage.ru_stime),
          .elapsed_s = kSinceStart.milliseconds() / 1000.0,
          .peak_memory_mib = static_cast<double>(usage.ru_maxrss) / 1024.0};
}

}  // namespace convlab
