#include "grader/report/pages/comparison.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "common/base/error.hpp"
#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/measure/speed.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

namespace {

/// A run with the name of its row.
struct NamedRun {
  PlottedRun item;
  std::string name;
  std::size_t file = 0;
};

std::vector<NamedRun> named_runs(const std::vector<Result>& results,
                                 const std::vector<std::string>& names, const std::string& network,
                                 bool by_file) {
  std::vector<NamedRun> runs;
  if (!by_file) {
    const std::vector<PlottedRun> all = plotted_runs(results, network);
    for (const PlottedRun& item : all) runs.push_back({item, short_name(item, all)});
    return runs;
  }
  for (std::size_t file = 0; file < results.size(); ++file) {
    for (const PlottedRun& item : plotted_runs({&results[file], 1}, network)) {
      runs.push_back({item,
                      item.result->milestone + " " + item.run->stage.id + " (" + names[file] + ")",
                      file});
    }
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

using Key = std::tuple<int, std::string, std::string, std::size_t>;

Key key_of(const NamedRun& named) {
  const RunResult& run = *named.item.run;
  return {run.batch, named.item.result->milestone, run.stage.id, run.layers.size()};
}

// For each run the one that it is compared with, or null.
std::vector<const NamedRun*> others_of(const std::vector<NamedRun>& runs,
                                       const ComparedWith& with) {
  std::vector<PlottedRun> items;
  std::map<Key, const NamedRun*> first_file;  // there may be many thousands of these
  for (const NamedRun& each : runs) {
    items.push_back(each.item);
    if (each.file == 0) first_file.emplace(key_of(each), &each);
  }
  std::vector<const NamedRun*> others(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto is_wanted = [&](const NamedRun& each) {
      const RunResult& run = *runs[i].item.run;
      const RunResult& other = *each.item.run;
      return &each != &runs[i] && other.stage.id == with.stage && other.batch == run.batch &&
             other.layers.size() == run.layers.size();
    };
    if (with.by_file) {
      const auto found = first_file.find(key_of(runs[i]));
      if (runs[i].file > 0 && found != first_file.end()) others[i] = found->second;
    } else if (!with.stage.empty()) {
      const auto found = std::ranges::find_if(runs, is_wanted);
      if (found != runs.end()) others[i] = &*found;
    } else if (const PlottedRun* found = baseline_of(items, i)) {
      others[i] = &runs[static_cast<std::size_t>(found - items.data())];
    }
  }
  return others;
}

ComparedStage stage_of(const NamedRun& named) {
  const RunResult& run = *named.item.run;
  ComparedStage stage{.name = named.name};
  const DeviceLimits limits =
      with_measured(named.item.result->machine.promised, named.item.result->machine.measured);
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
  if (!percent) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), *percent < 9.95 ? "%.1f" : "%.0f", *percent);
  return text.data();
}

}  // namespace

const char* ComparedSpeed::verdict() const {
  if (!known || (low <= 1.0 && high >= 1.0)) return "undecided";
  return low > 1.0 ? "faster" : "slower";
}

std::vector<Comparison> compare(const std::vector<Result>& results,
                                const std::vector<std::string>& names, const ComparedWith& with) {
  std::vector<Comparison> comparisons;
  std::set<std::string> known;
  for (const std::string& network : networks_of(results)) {
    const auto runs = named_runs(results, names, network, with.by_file);
    const auto others = others_of(runs, with);
    std::map<int, std::vector<std::size_t>> batches;
    for (std::size_t i = 0; i < runs.size(); ++i) batches[runs[i].item.run->batch].push_back(i);
    for (const auto& [batch, members] : batches) {
      Comparison comparison{.network = network, .batch = batch};
      std::vector<PlottedRun> drawn;
      for (const std::size_t i : members) {
        const RunResult& run = *runs[i].item.run;
        known.insert(run.stage.id);
        drawn.push_back(runs[i].item);
        comparison.stages.push_back(stage_of(runs[i]));
        ComparedStage& stage = comparison.stages.back();
        if (const NamedRun* other = others[i]) {
          stage.speed = compare_runs(*other->item.run, run, other->name);
        }
      }
      comparison.caption = caption_of(drawn, network, "");
      comparisons.push_back(std::move(comparison));
    }
  }
  if (!with.stage.empty() && !known.contains(with.stage)) {
    throw UsageError("These results hold no stage '" + with.stage +
                     "' with times; they hold: " + joined(known) + ".");
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
