#include "grader/measure/speed.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/data/random.hpp"
#include "common/timing/statistics.hpp"

namespace convlab::grader {

namespace {

double median_of(std::vector<double> samples) {
  return spread_of(std::move(samples)).median;
}

// Pairs stay pairs: a moment that slowed both must not look like a difference.
double resampled_speed(const SpeedMeasure& measure, Random& random) {
  double reference = 0.0;
  double yours = 0.0;
  for (std::size_t layer = 0; layer < measure.yours_ms.size(); ++layer) {
    const std::size_t count = measure.yours_ms[layer].size();
    std::vector<double> drawn_reference(count);
    std::vector<double> drawn_yours(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto pick = static_cast<std::size_t>(random.below(static_cast<int>(count)));
      drawn_reference[i] = measure.reference_ms[layer][pick];
      drawn_yours[i] = measure.yours_ms[layer][pick];
    }
    reference += median_of(std::move(drawn_reference));
    yours += median_of(std::move(drawn_yours));
  }
  return reference / yours;
}

std::size_t fewest_pairs(const SpeedMeasure& measure) {
  std::size_t fewest = measure.yours_ms.front().size();
  for (const std::vector<double>& samples : measure.yours_ms) {
    fewest = std::min(fewest, samples.size());
  }
  return fewest;
}

double deviation_of_logarithms(const std::vector<double>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += std::log(value);
    squares += std::log(value) * std::log(value);
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

}  // namespace

void estimate_speed(SpeedMeasure& measure) {
  measure.speed = sum_of_medians(measure.reference_ms) / sum_of_medians(measure.yours_ms);
  constexpr int kDraws = 1000;
  constexpr double kBeyond = 0.025;
  Random random(1);
  std::vector<double> speeds(kDraws);
  std::generate(speeds.begin(), speeds.end(), [&] { return resampled_speed(measure, random); });
  std::ranges::sort(speeds);
  const auto outside = static_cast<std::size_t>(kBeyond * kDraws);
  measure.low = speeds[outside];
  measure.high = speeds[kDraws - 1 - outside];

  // Draws from few pairs never leave their range: with three pairs, the percentiles contain the
  // truth in only three of four cases. Student's t accounts for few samples.
  constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776};  // 97.5 %, from 2 pairs on
  const std::size_t pairs = fewest_pairs(measure);
  if (pairs < 2 || pairs - 2 >= kStudent.size()) return;
  const auto count = static_cast<double>(pairs);
  const double error = deviation_of_logarithms(speeds) * std::sqrt(count / (count - 1.0));
  measure.low = measure.speed * std::exp(-kStudent[pairs - 2] * error);
  measure.high = measure.speed * std::exp(kStudent[pairs - 2] * error);
}

}  // namespace convlab::grader
