#include "common/base/tests/support/catch.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

using namespace convlab;

TEST_CASE("timing: median and quartiles interpolate between ranks") {
  const Spread even = spread_of({4, 1, 3, 2});
  CHECK(even.median == Approx(2.5));
  CHECK(even.lower_quartile == Approx(1.75));
  CHECK(even.upper_quartile == Approx(3.25));
  const Spread single = spread_of({7});
  CHECK(single.median == 7);
  CHECK(single.upper_quartile == 7);
  CHECK(spread_of({}).median == 0);
}

TEST_CASE("timing: the larger of the two clocks counts; a dropped one is marked, no small wobble") {
  CHECK(OpSample{.host_ms = 2.0, .event_ms = 1.5}.score_ms() == 2.0);
  CHECK(OpSample{.host_ms = 2.0, .event_ms = 2.5}.score_ms() == 2.5);
  const auto slowed = [](const std::vector<int>& clocks) {
    std::vector<OpSample> samples;
    for (const int mhz : clocks) samples.push_back({.clock_mhz = mhz});
    mark_slowed(samples);
    std::vector<int> marked;
    for (const OpSample& sample : samples) marked.push_back(sample.slowed ? 1 : 0);
    return marked;
  };
  CHECK(slowed({1980, 1965, 1905, 1980}) == std::vector<int>{0, 0, 1, 0});
  CHECK(slowed({0, 0}) == std::vector<int>{0, 0});  // no clock is known
}

TEST_CASE("timing: three digits, whatever the size") {
  CHECK(three_digits(0.0) == "0");
  CHECK(three_digits(0.000456) == "0.000456");
  CHECK(three_digits(0.0000456) == "0.000046");  // a nanosecond is the last
  CHECK(three_digits(0.01234) == "0.0123");
  CHECK(three_digits(0.09996) == "0.100");
  CHECK(three_digits(9.999) == "10.0");
  CHECK(three_digits(12345.6) == "12346");
}

TEST_CASE("timing: a spread is never rounded away beside its number") {
  CHECK(spread_digits(0.0123, 0.0004) == "0.0004");
  CHECK(spread_digits(0.0123, 0.000002) == "0.000002");
  CHECK(spread_digits(123.0, 0.04) == "0.04");
  CHECK(spread_digits(0.0123, 0.0) == "0");
}
