#include <algorithm>
#include <array>

#include "common/base/tests/support/catch.hpp"
#include "common/data/random.hpp"

using convlab::Random;

TEST_CASE("random: the published sequence of SplitMix64") {
  Random random(1234567);
  CHECK(random.next() == 6457827717110365317U);
  CHECK(random.next() == 3203168211198807973U);
}

TEST_CASE("random: a range is filled evenly") {
  Random random(5);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(static_cast<std::size_t>(random.below(7)));
  for (int count : counts) CHECK(std::abs(count - 10'000) < 500);
}
