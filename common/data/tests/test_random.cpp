#include "common/base/tests/support/catch.hpp"
#include "common/data/random.hpp"

using convlab::Random;

TEST_CASE("random: the published sequence of SplitMix64") {
  Random random(1234567);
  CHECK(random.next() == 6457827717110365317U);
  CHECK(random.next() == 3203168211198807973U);
}
