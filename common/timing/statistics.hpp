#pragma once

#include <algorithm>
#include <vector>

namespace convlab {

/// One timed call of a convolution, fenced on both sides.
struct OpSample {
  double host_ms = 0.0;   ///< on the host's clock, until the whole device is idle again
  double event_ms = 0.0;  ///< between two events of the device; 0 on the CPU
  double tail_ms = 0.0;   ///< what the device still did when the default stream was done
  int clock_mhz = 0;      ///< of the multiprocessors right after it; 0 if unknown
  bool slowed = false;    ///< the clock was lower than in the other samples: see mark_slowed

  /// The time that counts: work that hides from one clock shows on the other.
  [[nodiscard]] double score_ms() const { return std::max(host_ms, event_ms); }
};

/// Marks the samples with a clock more than 3 % below the highest of the series. The device was hot
/// or at its power limit, so these times say little about the code.
void mark_slowed(std::vector<OpSample>& samples);

/// Median and quartiles of a series of samples, in the unit of the samples.
struct Spread {
  double median = 0.0;
  double lower_quartile = 0.0;
  double upper_quartile = 0.0;
};

/// Quartiles interpolate linearly between the ranked samples (R's type 7); one sample is its own
/// quartiles, no sample gives zeros.
Spread spread_of(std::vector<double> samples);

}  // namespace convlab
