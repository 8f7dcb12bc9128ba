#include "common/process/process_usage.hpp"
#include "common/testing/catch.hpp"
#include "common/timing/stopwatch.hpp"

using namespace convlab;

TEST_CASE("process: a stopwatch and the process's usage advance with work") {
  const ProcessUsage before = process_usage();
  const Stopwatch stopwatch;
  volatile double sink = 0;
  while (stopwatch.milliseconds() < 30) sink = sink + 1;
  const ProcessUsage after = process_usage();
  CHECK(after.elapsed_s - before.elapsed_s >= 0.029);
  CHECK(after.user_s + after.system_s > before.user_s + before.system_s);
  CHECK(after.peak_memory_mib > 1);
}
