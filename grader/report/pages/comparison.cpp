#include "grader/report/pages/comparison.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "common/base/error.hpp"
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
    const auto own = plotted_runs({&result, 1}, network);
    runs.insert(runs.end(), own.begin(), own.end());
  }
  return runs;
}

// Cuts both series to the same number of samples, because the bootstrap needs pairs.
ComparedSpeed compare_runs(const RunResult& other, const RunResult& own, const std::string& name) {
  ComparedSpeed speed{.against = name};
  SpeedMeasure measure;
  std::size_t fewest = 1000;
  for (std::size_t i = 0; i < own.layers.size(); ++i) {
    std::vector<double> yours = own.layers[i].op_ms;
    std::vector<double> reference = other.layers[i].op_ms;
    const std::size_t count = std::min(yours.size(), reference.size());
    fewest = std::min(fewest, count);
    yours.resize(count);
    reference.resize(count);
    measure.yours_ms.push_back(std::move(yours));
    measure.reference_ms.push_back(std::move(reference));
  }
  estimate_speed(measure);
  // The ratio itself is that of all samples.
  speed.ratio = times_of(other).sum.median / times_of(own).sum.median;
  speed.known = fewest >= 2;
  speed.low = speed.known ? std::min(measure.low, speed.ratio) : speed.ratio;
  speed.high = speed.known ? std::max(measure.high, speed.ratio) : speed.ratio;
  return speed;
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

ComparedStage stage_of(const PlottedRun& item, const std::string& name) {
  const RunResult& run = *item.run;
  ComparedStage stage{.name = name};
  const DeviceLimits limits =
      with_measured(item.result->machine.promised, item.result->machine.measured);
  double operations = 0.0;
  double bytes = 0.0;
  for (const LayerResult& layer : run.layers) {
    stage.op_ms.push_back(spread_of(layer.op_ms).median);
    stage.sum_ms += stage.op_ms.back();
    stage.layer_ms += spread_of(layer.layer_ms).median;
    operations += 2.0 * static_cast<double>(layer.shape.multiply_adds());
    bytes += static_cast<double>(compulsory_traffic(layer.shape).bytes());
  }
  const double seconds = stage.sum_ms * 1e-3;
  const double peak = limits.operations_per_second(run.stage.precision);
  if (run.device == Device::kGpu && peak > 0.0) {
    stage.compute_percent = 100.0 * operations / seconds / peak;
  }
  if (run.device == Device::kGpu && limits.bytes_per_second > 0.0) {
    stage.memory_percent = 100.0 * bytes / seconds / limits.bytes_per_second;
  }
  return stage;
}

std::string percent_text(const std::optional<double>& percent) {
  return percent ? three_digits(*percent) : "";
}

}  // namespace

const char* ComparedSpeed::verdict() const {
  if (!known || (low <= 1.0 && high >= 1.0)) return "undecided";
  return low > 1.0 ? "faster" : "slower";
}

std::vector<Comparison> compare(const std::vector<Result>& results,
                                const std::vector<std::string>& names, bool by_file) {
  std::vector<Comparison> comparisons;
  for (const std::string& network : networks_of(results)) {
    const auto runs = runs_of(results, network, by_file);
    const auto name_of = [&](const PlottedRun& item) {
      if (!by_file) return short_name(item, runs);
      const auto file = static_cast<std::size_t>(item.result - results.data());
      return item.result->milestone + " " + item.run->stage.id + " (" + names[file] + ")";
    };
    std::map<int, std::vector<std::size_t>> batches;
    for (std::size_t i = 0; i < runs.size(); ++i) batches[runs[i].run->batch].push_back(i);
    for (const auto& [batch, members] : batches) {
      Comparison comparison{.network = network, .batch = batch};
      std::vector<PlottedRun> drawn;
      for (const std::size_t i : members) {
        drawn.push_back(runs[i]);
        ComparedStage& stage = comparison.stages.emplace_back(stage_of(runs[i], name_of(runs[i])));
        const PlottedRun* other =
            by_file ? same_in_first(runs, runs[i], results.data()) : baseline_of(runs, i);
        if (other != nullptr) {
          stage.speed = compare_runs(*other->run, *runs[i].run, name_of(*other));
        }
      }
      comparison.caption = caption_of(drawn, network, "");
      comparisons.push_back(std::move(comparison));
    }
  }
  return comparisons;
}

Table table_of(const Comparison& comparison) {
  std::size_t layers = 0;
  bool percents = false;
  bool speeds = false;
  for (const ComparedStage& stage : comparison.stages) {
    layers = std::max(layers, stage.op_ms.size());
    percents = percents || stage.compute_percent || stage.memory_percent;
    speeds = speeds || stage.speed;
  }
  Table table{.heading = {"stage"}};
  const auto add_columns = [&](std::initializer_list<const char*> names) {
    table.heading.insert(table.heading.end(), names.begin(), names.end());
  };
  for (std::size_t i = 0; i < layers; ++i) {
    table.heading.push_back("op " + std::to_string(i + 1) + " ms");
  }
  add_columns({"op time ms", "layer time ms"});
  if (percents) add_columns({"compute %", "memory %"});
  if (speeds) add_columns({"ratio", "95 %", "verdict", "against"});
  for (const ComparedStage& stage : comparison.stages) {
    std::vector<std::string> row = {stage.name};
    for (std::size_t i = 0; i < layers; ++i) {
      row.push_back(i < stage.op_ms.size() ? three_digits(stage.op_ms[i]) : "");
    }
    row.insert(row.end(), {three_digits(stage.sum_ms), three_digits(stage.layer_ms)});
    if (percents) {
      row.insert(row.end(),
                 {percent_text(stage.compute_percent), percent_text(stage.memory_percent)});
    }
    if (stage.speed) {
      const ComparedSpeed& speed = *stage.speed;
      row.insert(row.end(),
                 {three_digits(speed.ratio),
                  speed.known ? three_digits(speed.low) + "–" + three_digits(speed.high) : "",
                  speed.verdict(), speed.against});
    }
    row.resize(table.heading.size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace convlab::grader
