#pragma once

#include <vector>

namespace convlab {

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
