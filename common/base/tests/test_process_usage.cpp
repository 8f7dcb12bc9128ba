#include <vector>

#include "common/base/process_usage.hpp"
#include "common/base/stopwatch.hpp"
#include "common/base/tests/support/catch.hpp"

using namespace convlab;

TEST_CASE("process: a stopwatch and the process's usage advance with work") {
  const ProcessUsage before = process_usage();
  const Stopwatch stopwatch;
  ProcessUsage after = before;
  volatile double sink = 0;
  // However coarse the clock of processors is. One that stands still meets ctest's limit.
  while (after.user_s + after.system_s <= before.user_s + before.system_s) {
    for (int i = 0; i < 1000; ++i) sink = sink + 1;
    after = process_usage();
  }
  CHECK(after.elapsed_s > before.elapsed_s);
  CHECK(stopwatch.milliseconds() > 0);
  constexpr std::size_t kMebibytes = 64;
  const std::vector<char> block(kMebibytes << 20U, 'x');
  sink = block[static_cast<std::size_t>(after.user_s)];
  CHECK(process_usage().peak_memory_mib > kMebibytes);
}
