#include "common/testing/catch.hpp"
#include "common/timing/process_usage.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/stopwatch.hpp"

using namespace convlab;

TEST_CASE("timing: median and quartiles interpolate between ranks") {
  const Spread even = spread_of({4, 1, 3, 2});
  CHECK(even.median == Approx(2.5));
  CHECK(even.lower_quartile == Approx(1.75));
  CHECK(even.upper_quartile == Approx(3.25));
  const Spread single = spread_of({7});
  CHECK(single.median == 7);
  CHECK(single.lower_quartile == 7);
  CHECK(single.upper_quartile == 7);
  CHECK(spread_of({}).median == 0);
}

TEST_CASE("timing: a stopwatch and the process's usage advance with work") {
  const ProcessUsage before = process_usage();
  const Stopwatch stopwatch;
  volatile double sink = 0;
  while (stopwatch.milliseconds() < 30) sink = sink + 1;
  const ProcessUsage after = process_usage();
  CHECK(after.elapsed_s - before.elapsed_s >= 0.029);
  CHECK(after.user_s + after.system_s > before.user_s + before.system_s);
  CHECK(after.peak_memory_mib > 1);
}
