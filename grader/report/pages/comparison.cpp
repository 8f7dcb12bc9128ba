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

/// Which run each one is compared with.
class Others {
 public:
  Others(const std::vector<NamedRun>& runs, const ComparedWith& with) : runs_(runs), with_(with) {
    // There may be many thousands of these.
    for (const NamedRun& each : runs) {
      if (with.by_file && each.file == 0) first_file_.emplace(key_of(each), &each);
    }
  }

  [[nodiscard]] const NamedRun* of(std::size_t index) const {
    const NamedRun& own = runs_[index];
    if (with_.by_file) {
      const auto found = first_file_.find(key_of(own));
      return found == first_file_.end() || own.file == 0 ? nullptr : found->second;
    }
    const RunResult& a = *own.item.run;
    const NamedRun* found = nullptr;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const NamedRun& other = runs_[i];
      const RunResult& b = *other.item.run;
      if (i == index || a.batch != b.batch || a.layers.size() != b.layers.size()) continue;
      if (!with_.stage.empty()) {
        if (b.stage.id == with_.stage) return &other;
      } else if (i < index && own.item.result->solution == other.item.result->solution &&
                 (a.stage.baseline.empty() ||
                  (b.stage.id == a.stage.baseline && b.device == a.device))) {
        found = &other;  // the nearest one before it
      }
    }
    return found;
  }

 private:
  using Key = std::tuple<int, std::string, std::string, std::size_t>;

  static Key key_of(const NamedRun& named) {
    const RunResult& run = *named.item.run;
    return {run.batch, named.item.result->milestone, run.stage.id, run.layers.size()};
  }

  const std::vector<NamedRun>& runs_;
  const ComparedWith& with_;
  std::map<Key, const NamedRun*> first_file_;
};

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

std::string ratio_text(double ratio) {
  constexpr double kSlow = 0.1;
  constexpr double kFast = 100.0;
  if (ratio < kSlow || ratio >= kFast) return three_digits(ratio);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", ratio);
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
    const Others others(runs, with);
    std::map<int, std::vector<std::size_t>> batches;
    for (std::size_t i = 0; i < runs.size(); ++i) batches[runs[i].item.run->batch].push_back(i);
    for (const auto& [batch, members] : batches) {
      Comparison comparison{.network = network, .batch = batch};
      std::vector<PlottedRun> drawn;
      for (const std::size_t i : members) {
        const RunResult& run = *runs[i].item.run;
        known.insert({run.stage.id, run.stage.id + "@" + std::to_string(batch)});
        drawn.push_back(runs[i].item);
        comparison.stages.push_back(stage_of(runs[i]));
        ComparedStage& stage = comparison.stages.back();
        if (const NamedRun* other = others.of(i)) {
          stage.speed = compare_runs(*other->item.run, run, other->name);
        }
        for (const StageCounters& each : with.counters) {
          if (each.stage == run.stage.id && each.batch == batch) stage.counters = each.counters;
        }
      }
      comparison.caption = caption_of(drawn, network, "");
      comparisons.push_back(std::move(comparison));
    }
  }
  const auto require = [&](const std::string& wanted) {
    if (wanted.empty() || known.count(wanted) != 0) return;
    std::string list;
    for (const std::string& name : known) {
      if ((name.find('@') == std::string::npos) != (wanted.find('@') == std::string::npos))
        continue;
      list += (list.empty() ? "" : ", ") + name;
    }
    throw UsageError("These results hold no stage '" + wanted + "' with times; they hold: " + list +
                     ".");
  };
  require(with.stage);
  for (const StageCounters& each : with.counters) {
    require(each.stage + "@" + std::to_string(each.batch));
  }
  return comparisons;
}

Table table_of(const Comparison& comparison) {
  Table table = table_of(std::vector<Comparison>{comparison});
  // The title says network and batch.
  const auto shorten = [](std::vector<std::string>& row) {
    row.erase(row.begin(), row.begin() + 2);
  };
  shorten(table.heading);
  std::ranges::for_each(table.rows, shorten);
  return table;
}

Table table_of(const std::vector<Comparison>& comparisons) {
  std::size_t layers = 0;
  bool percents = false;
  bool counters = false;
  bool speeds = false;
  for (const Comparison& comparison : comparisons) {
    for (const ComparedStage& stage : comparison.stages) {
      layers = std::max(layers, stage.op_ms.size());
      percents = percents || stage.compute_percent || stage.memory_percent;
      counters = counters || stage.counters;
      speeds = speeds || stage.speed;
    }
  }
  Table table{.heading = {"network", "batch", "stage"}};
  const auto add_columns = [&](std::initializer_list<const char*> names) {
    table.heading.insert(table.heading.end(), names.begin(), names.end());
  };
  for (std::size_t i = 0; i < layers; ++i) {
    table.heading.push_back("op " + std::to_string(i + 1) + " ms");
  }
  add_columns({"op time ms", "layer time ms"});
  if (percents) add_columns({"compute %", "memory %"});
  if (counters) add_columns({"SM % (ncu)", "memory % (ncu)", "L1 % (ncu)", "occupancy % (ncu)"});
  if (speeds) add_columns({"ratio", "95 %", "verdict", "against"});
  for (const Comparison& comparison : comparisons) {
    for (const ComparedStage& stage : comparison.stages) {
      std::vector<std::string> row = {comparison.network, std::to_string(comparison.batch),
                                      stage.name};
      for (std::size_t i = 0; i < layers; ++i) {
        row.push_back(i < stage.op_ms.size() ? three_digits(stage.op_ms[i]) : "");
      }
      row.insert(row.end(), {three_digits(stage.sum_ms), three_digits(stage.layer_ms)});
      if (percents) {
        row.insert(row.end(),
                   {percent_text(stage.compute_percent), percent_text(stage.memory_percent)});
      }
      if (counters) {
        const Counters counted = stage.counters.value_or(Counters{});
        row.insert(row.end(), {percent_text(counted.compute), percent_text(counted.memory),
                               percent_text(counted.l1), percent_text(counted.occupancy)});
      }
      if (stage.speed) {
        const ComparedSpeed& speed = *stage.speed;
        row.insert(row.end(),
                   {ratio_text(speed.ratio),
                    speed.known ? ratio_text(speed.low) + "–" + ratio_text(speed.high) : "",
                    speed.verdict(), speed.against});
      }
      row.resize(table.heading.size());
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::optional<Figure> figure_of(const std::vector<Comparison>& comparisons) {
  if (comparisons.empty()) return std::nullopt;
  RowFigure figure({.name = "compare",
                    .title = "How many times as fast",
                    .caption = comparisons.back().caption,
                    .x = {.title = "times as fast as the second of the two stages (log scale; "
                                   "bars: 95 %)"},
                    .y = {.title = "comparison"},
                    .origin = 1.0});
  for (const Comparison& comparison : comparisons) {
    for (const ComparedStage& stage : comparison.stages) {
      if (!stage.speed) continue;
      const ComparedSpeed& speed = *stage.speed;
      const std::string name = stage.name + " over " + speed.against;
      figure.add(figure.panel(comparison.network, comparison.batch), name, name,
                 {.layers = {}, .sum = {speed.ratio, speed.low, speed.high}},
                 ratio_text(speed.ratio));
    }
  }
  return figure.finish();
}

}  // namespace convlab::grader
