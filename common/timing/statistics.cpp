#include "common/timing/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace convlab {

namespace {

double quantile(const std::vector<double>& ranked, double fraction) {
  const double position = fraction * static_cast<double>(ranked.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ranked.size() - 1);
  return std::lerp(ranked[below], ranked[above], position - static_cast<double>(below));
}

}  // namespace

void mark_slowed(std::vector<OpSample>& samples) {
  constexpr double kTolerance = 0.03;
  int highest = 0;
  for (const OpSample& sample : samples) highest = std::max(highest, sample.clock_mhz);
  for (OpSample& sample : samples) {
    sample.slowed = sample.clock_mhz < (1.0 - kTolerance) * highest;
  }
}

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {.median = quantile(samples, 0.5),
          .lower_quartile = quantile(samples, 0.25),
          .upper_quartile = quantile(samples, 0.75)};
}

}  // namespace convlab
