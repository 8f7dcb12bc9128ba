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
  CHECK(single.lower_quartile == 7);
  CHECK(single.upper_quartile == 7);
  CHECK(spread_of({}).median == 0);
}

TEST_CASE("timing: three digits, whatever the size") {
  CHECK(three_digits(0.0) == "0");
  CHECK(three_digits(0.000456) == "0.000456");
  CHECK(three_digits(0.0000456) == "0.000046");  // a nanosecond is the last
  CHECK(three_digits(0.01234) == "0.0123");
  CHECK(three_digits(0.09996) == "0.100");
  CHECK(three_digits(1.0) == "1.00");
  CHECK(three_digits(9.999) == "10.0");
  CHECK(three_digits(123.4) == "123");
  CHECK(three_digits(12345.6) == "12346");
}

TEST_CASE("timing: a spread is never rounded away beside its number") {
  CHECK(spread_digits(2.0, 0.5) == "0.50");
  CHECK(spread_digits(0.0123, 0.0004) == "0.0004");
  CHECK(spread_digits(0.0123, 0.000002) == "0.000002");
  CHECK(spread_digits(123.0, 0.04) == "0.04");
  CHECK(spread_digits(1234.0, 56.7) == "57");
  CHECK(spread_digits(0.0123, 0.0) == "0");
}
