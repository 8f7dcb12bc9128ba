#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/timing/statistics.hpp"

using namespace convlab;

namespace {

OpSample at_clock(int mhz) {
  OpSample sample;
  sample.clock_mhz = mhz;
  return sample;
}

}  // namespace

TEST_CASE("op sample: the larger of the two clocks counts") {
  OpSample sample;
  sample.host_ms = 2.0;
  sample.event_ms = 1.5;
  CHECK(sample.score_ms() == 2.0);
  sample.event_ms = 2.5;
  CHECK(sample.score_ms() == 2.5);
}

TEST_CASE("op sample: a dropped clock is marked, a small wobble is not") {
  std::vector<OpSample> samples = {at_clock(1980), at_clock(1965), at_clock(1905), at_clock(1980)};
  mark_slowed(samples);
  CHECK_FALSE(samples[0].slowed);
  CHECK_FALSE(samples[1].slowed);
  CHECK(samples[2].slowed);
  CHECK_FALSE(samples[3].slowed);
}

TEST_CASE("op sample: where no clock is known nothing is marked") {
  std::vector<OpSample> samples = {at_clock(0), at_clock(0)};
  mark_slowed(samples);
  CHECK_FALSE(samples[0].slowed);
  CHECK_FALSE(samples[1].slowed);
}
