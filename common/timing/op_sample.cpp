#include "common/timing/op_sample.hpp"

namespace convlab {

void mark_slowed(std::vector<OpSample>& samples) {
  constexpr double kTolerance = 0.03;
  int highest = 0;
  for (const OpSample& sample : samples) highest = std::max(highest, sample.clock_mhz);
  for (OpSample& sample : samples) {
    sample.slowed = sample.clock_mhz < (1.0 - kTolerance) * highest;
  }
}

}  // namespace convlab
