#include "grader/report/numbers.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/measure/counters.hpp"

namespace convlab::grader {

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), "\u00a0");  // no line ends there
  }
  return text;
}

std::string short_number(double number) {
  constexpr double kTen = 10.0;
  const double rounded = std::round(number * kTen) / kTen;
  if (rounded == std::floor(rounded)) return grouped(static_cast<std::int64_t>(rounded));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", rounded);
  return text.data();
}

std::string percent(double share) {
  return std::to_string(std::lround(100.0 * share)) + " %";
}

std::vector<KnownNumber> known_times(const Result& result) {
  std::vector<KnownNumber> known;
  for (const RunResult& run : result.runs) {
    const std::string of = " of " + run.stage.id + " at " + std::to_string(run.batch) + " images";
    double sum = 0.0;
    for (std::size_t i = 0; i < run.layers.size(); ++i) {
      const LayerResult& layer = run.layers[i];
      const std::string which = " of convolution " + std::to_string(i + 1) + of;
      const double op_ms = spread_of(layer.op_ms).median;
      sum += op_ms;
      known.push_back({op_ms, "the op time" + which});
      known.push_back({spread_of(layer.layer_ms).median, "the layer time" + which});
    }
    known.push_back({sum, "the op time of all convolutions" + of});
  }
  return known;
}

Table counter_table(const StageCounts& counts) {
  Table table{.heading = {"counter", "value"}};
  for (const Counter& counter : counters()) {
    const double value = counter.value(counts);
    table.rows.push_back({std::string(counter.title), std::isnan(value)  ? "-"
                                                      : counter.is_share ? percent(value)
                                                                         : three_digits(value)});
  }
  return table;
}

}  // namespace convlab::grader
