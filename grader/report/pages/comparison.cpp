#include "grader/report/pages/comparison.hpp"

#include <algorithm>
#include <map>

#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

namespace {

// Of one file after the other, if the files are compared.
std::vector<PlottedRun> runs_of(const std::vector<Result>& results, const std::string& network,
                                bool by_file) {
  if (!by_file) return plotted_runs(results, network);
  std::vector<PlottedRun> runs;
  for (const Result& result : results) {
    std::ranges::move(plotted_runs({&result, 1}, network), std::back_inserter(runs));
  }
  return runs;
}

// The run of the same stage in the first of the results; null if there is none.
const PlottedRun* same_in_first(const std::vector<PlottedRun>& runs, const PlottedRun& own,
                                const Result* first) {
  for (const PlottedRun& each : runs) {
    if (each.result != first || own.result == first) break;  // many thousands may follow
    if (each.run->stage.id == own.run->stage.id && each.run->batch == own.run->batch &&
        each.run->layers.size() == own.run->layers.size() &&
        each.result->milestone == own.result->milestone) {
      return &each;
    }
  }
  return nullptr;
}

// Ratio, interval, verdict.
std::vector<std::string> speed_cells(const PlottedRun& other, const PlottedRun& own) {
  SpeedMeasure measure;
  std::size_t fewest = own.run->layers.front().op_ms.size();
  for (std::size_t i = 0; i < own.run->layers.size(); ++i) {
    std::vector<double>& yours = measure.yours_ms.emplace_back(own.run->layers[i].op_ms);
    std::vector<double>& reference = measure.reference_ms.emplace_back(other.run->layers[i].op_ms);
    // The bootstrap needs pairs.
    const std::size_t count = std::min(yours.size(), reference.size());
    yours.resize(count);
    reference.resize(count);
    fewest = std::min(fewest, count);
  }
  estimate_speed(measure);
  // The ratio itself is that of all samples.
  const double ratio = other.op_ms.back().median / own.op_ms.back().median;
  if (fewest < 2) return {three_digits(ratio), "", "undecided"};
  const double low = std::min(measure.low, ratio);
  const double high = std::max(measure.high, ratio);
  return {three_digits(ratio), three_digits(low) + "–" + three_digits(high),
          low > 1.0    ? "faster"
          : high < 1.0 ? "slower"
                       : "undecided"};
}

// Shares of the GPU's arithmetic peak and of its bandwidth; empty if unknown.
std::vector<std::string> limit_cells(const PlottedRun& item) {
  if (item.run->device != Device::kGpu) return {"", ""};
  const DeviceLimits limits =
      with_measured(item.result->machine.promised, item.result->machine.measured);
  double operations = 0.0;
  double bytes = 0.0;
  for (const LayerResult& layer : item.run->layers) {
    operations += 2.0 * static_cast<double>(layer.shape.multiply_adds());
    bytes += static_cast<double>(compulsory_traffic(layer.shape).bytes());
  }
  const double seconds = item.op_ms.back().median * 1e-3;
  const auto share = [&](double work, double limit) {
    return limit > 0.0 ? three_digits(100.0 * work / seconds / limit) : "";
  };
  return {share(operations, limits.operations_per_second(item.run->stage.precision)),
          share(bytes, limits.bytes_per_second)};
}

}  // namespace

std::vector<Comparison> compare(const std::vector<Result>& results,
                                const std::vector<std::string>& names, bool by_file) {
  std::vector<Comparison> comparisons;
  for (const std::string& network : networks_of(results)) {
    const auto runs = runs_of(results, network, by_file);
    const auto name_of = [&](const PlottedRun& item) {
      if (!by_file) return short_name(item, runs);
      const auto file = static_cast<std::size_t>(item.result - results.data());
      return full_name(item) + " (" + names[file] + ")";
    };
    std::map<int, std::vector<std::size_t>> batches;
    std::size_t layers = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      batches[runs[i].run->batch].push_back(i);
      layers = std::max(layers, runs[i].run->layers.size());
    }
    for (const auto& [batch, members] : batches) {
      std::vector<PlottedRun> drawn;
      Table table{.heading = {"stage"}};
      for (std::size_t i = 1; i <= layers; ++i) {
        table.heading.push_back("op " + std::to_string(i) + " ms");
      }
      for (const char* title : {"op time ms", "layer time ms", "compute %", "memory %", "ratio",
                                "95 %", "verdict", "against"}) {
        table.heading.emplace_back(title);
      }
      for (const std::size_t i : members) {
        const PlottedRun& own = drawn.emplace_back(runs[i]);
        std::vector<std::string>& row = table.rows.emplace_back();
        const auto append = [&](std::vector<std::string> cells) {
          std::ranges::move(cells, std::back_inserter(row));
        };
        row.push_back(name_of(own));
        double layer_ms = 0.0;
        for (std::size_t layer = 0; layer < own.run->layers.size(); ++layer) {
          row.push_back(three_digits(own.op_ms[layer].median));
          layer_ms += spread_of(own.run->layers[layer].layer_ms).median;
        }
        row.resize(1 + layers);
        append({three_digits(own.op_ms.back().median), three_digits(layer_ms)});
        append(limit_cells(own));
        const PlottedRun* const other =
            by_file ? same_in_first(runs, own, results.data()) : baseline_of(runs, i);
        if (other != nullptr) {
          append(speed_cells(*other, own));
          row.push_back(name_of(*other));
        }
        row.resize(table.heading.size());
      }
      drop_empty_columns(table);
      comparisons.push_back({network, batch, caption_of(drawn, network), std::move(table)});
    }
  }
  return comparisons;
}

}  // namespace convlab::grader
