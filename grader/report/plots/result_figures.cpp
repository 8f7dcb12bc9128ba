#include "grader/report/plots/result_figures.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>

#include "common/base/in_threads.hpp"
#include "common/device/physical_bound.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

namespace {

// An emulated device has no op time, the time of a wrong result means nothing, and a log scale has
// no zero.
bool is_plotted(const RunResult& run) {
  return run.device != Device::kEmulated && run.verdict != Verdict::kFailed &&
         !run.layers.empty() && std::ranges::all_of(run.layers, [](const LayerResult& layer) {
           return !layer.op_ms.empty() &&
                  std::ranges::all_of(layer.op_ms, [](double ms) { return ms > 0.0; });
         });
}

std::string machine_text(const MachineInfo& machine) {
  if (!machine.gpu.empty()) {
    return machine.gpu + (machine.driver.empty() ? "" : ", driver " + machine.driver);
  }
  return machine.cpu + ", " + std::to_string(machine.cores) +
         (machine.cores == 1 ? " core" : " cores");
}

std::string samples_text(const std::set<std::size_t>& counts, const std::string& bars) {
  if (*counts.rbegin() == 1) return "one sample";
  std::string text = "median of ";
  if (counts.size() > 1) text += std::to_string(*counts.begin()) + " to ";
  return text + std::to_string(*counts.rbegin()) + (bars.empty() ? "" : ", bars: " + bars);
}

Spread ratio(const Spread& baseline, const Spread& own) {
  return {baseline.median / own.median, baseline.lower_quartile / own.upper_quartile,
          baseline.upper_quartile / own.lower_quartile};
}

// Libraries' times and the machine's limits, shortest first. Of two with the same label the one in
// the later file counts.
std::vector<Rule> rules_at(const std::vector<Result>& results, const std::string& network,
                           int batch) {
  std::map<std::string, Rule> latest;
  for (const Result& result : results) {
    for (const ReferenceLine& line : result.references) {
      const double sum = std::accumulate(line.op_ms.begin(), line.op_ms.end(), 0.0);
      if (line.network != network || line.batch != batch || !(sum > 0.0)) continue;
      latest[line.label] = {line.label + " " + three_digits(sum), sum,
                            line.kind == "bound" ? kBoundColour : kLibraryColour};
    }
  }
  std::vector<Rule> times;
  for (const auto& [label, time] : latest) times.push_back(time);
  std::ranges::sort(times, {}, &Rule::value);
  return times;
}

/// Rows of a figure with a panel for each batch.
class RowFigure {
 public:
  RowFigure(Figure figure, const std::vector<PlottedRun>& runs) : figure_(std::move(figure)) {
    for (const PlottedRun& item : runs) batches_.insert(item.run->batch);
    for (const int batch : batches_) {
      figure_.panels.push_back({.title = "batch " + grouped(batch)});
    }
  }

  Panel& panel(int batch) {
    const auto place = std::distance(batches_.begin(), batches_.find(batch));
    return figure_.panels[static_cast<std::size_t>(place)];
  }

  /// Adds the times or ratios of one row: of each convolution, and of their sum.
  /// @param name   tells rows apart; two rows may have the same title
  void add(Panel& panel, const std::string& name, const std::string& title,
           const PlottedTimes& times, const std::string& text);
  Figure finish();

 private:
  Figure figure_;
  std::set<int> batches_{};
  std::vector<std::string> names_{};
};

void RowFigure::add(Panel& panel, const std::string& name, const std::string& title,
                    const PlottedTimes& times, const std::string& text) {
  const auto known = std::ranges::find(names_, name);
  const auto row = static_cast<double>(known - names_.begin());
  if (known == names_.end()) {
    names_.push_back(name);
    figure_.rows.push_back(title);
  }
  Mark bar{.at = row,
           .value = times.sum.median,
           .low = figure_.origin > 0.0 ? figure_.origin : times.sum.median,
           .high = times.sum.upper_quartile,
           .text = text};
  const auto add_mark = [&](Series& series, const Spread& point) {
    series.marks.push_back({row, point.median, point.lower_quartile, point.upper_quartile});
    figure_.x.include(point.lower_quartile);
    figure_.x.include(point.upper_quartile);
    if (!(figure_.origin > 0.0)) bar.low = std::min(bar.low, point.median);
    bar.high = std::max(bar.high, point.upper_quartile);
  };
  constexpr int kTriangle = 2;  // the symbol of sums
  for (std::size_t i = 0; i < times.layers.size(); ++i) {
    const auto layer = static_cast<int>(i);
    Series& series = series_of(panel, "op " + std::to_string(i + 1));
    series.colour = layer;
    series.symbol = layer < kTriangle ? layer : layer + 1;
    add_mark(series, times.layers[i]);
  }
  if (times.layers.size() != 1) {
    Series& sum = series_of(panel, "sum");
    sum.colour = kInk;
    sum.symbol = kTriangle;
    add_mark(sum, times.sum);
  }
  panel.bars.push_back(std::move(bar));
}

Figure RowFigure::finish() {
  if (figure_.origin > 0.0) figure_.x.include(figure_.origin);
  for (Panel& panel : figure_.panels) {
    for (const Rule& rule : panel.rules) figure_.x.include(rule.value);
    // Drawn last, and last in the key.
    std::stable_partition(panel.series.begin(), panel.series.end(),
                          [](const Series& series) { return series.label != "sum"; });
  }
  return std::move(figure_);
}

constexpr double kTera = 1e-12;  // speeds are in TFLOP/s here, bandwidths in TB/s

double tera_operations(const LayerResult& layer) {
  return 2.0 * static_cast<double>(layer.shape.multiply_adds()) * kTera;
}

// A GPU's runs at their largest batch, with as many layers as the last one.
std::vector<PlottedRun> runs_on_gpu(const std::vector<Result>& results,
                                    const std::string& network) {
  std::vector<PlottedRun> runs = plotted_runs(results, network);
  std::erase_if(runs, [](const PlottedRun& item) { return item.run->device != Device::kGpu; });
  if (runs.empty()) return runs;
  const RunResult& largest = *std::ranges::max_element(runs, [](const auto& a, const auto& b) {
                                return a.run->batch < b.run->batch;
                              })->run;
  std::erase_if(runs, [&](const PlottedRun& item) {
    return item.run->batch != largest.batch || item.run->layers.size() != largest.layers.size();
  });
  return runs;
}

std::string caption(const PlottedRun& last) {
  const MachineInfo& machine = last.result->machine;
  return machine.gpu + ", driver " + machine.driver + " · network " + last.run->network +
         " · batch " + grouped(last.run->batch) + " · ceilings " +
         (machine.measured.bytes_per_second > 0.0 ? "measured" : "promised") + " · commit " +
         machine.commit + " · " + date_of(last.result->created);
}

}  // namespace

std::vector<Result> read_results(const std::vector<std::filesystem::path>& files) {
  std::vector<Result> results(files.size());
  in_threads(files.size(), std::thread::hardware_concurrency(),
             [&](std::size_t i) { results[i] = read_result(files[i]); });
  return results;
}

std::vector<PlottedRun> plotted_runs(std::span<const Result> results, const std::string& network) {
  using Key = std::tuple<std::string, int, std::string, std::string, int>;
  std::map<Key, PlottedRun> latest;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      if (run.network != network || !is_plotted(run)) continue;
      latest[{result.milestone, run.stage.order, run.stage.id, result.solution, run.batch}] = {
          &run, &result};
    }
  }
  std::vector<PlottedRun> runs;
  runs.reserve(latest.size());
  for (const auto& [key, item] : latest) runs.push_back(item);
  return runs;
}

std::vector<std::string> networks_of(const std::vector<Result>& results) {
  std::vector<std::string> networks;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      if (is_plotted(run) && std::ranges::find(networks, run.network) == networks.end()) {
        networks.push_back(run.network);
      }
    }
  }
  return networks;
}

PlottedTimes times_of(const RunResult& run) {
  PlottedTimes times;
  for (const LayerResult& layer : run.layers) {
    const Spread spread = spread_of(layer.op_ms);
    times.layers.push_back(spread);
    // The layers are timed one after the other, so the sums of their quartiles bound those of the
    // sum.
    times.sum.median += spread.median;
    times.sum.lower_quartile += spread.lower_quartile;
    times.sum.upper_quartile += spread.upper_quartile;
  }
  return times;
}

const PlottedRun* baseline_of(const std::vector<PlottedRun>& runs, std::size_t index) {
  const PlottedRun& own = runs[index];
  const std::string& named = own.run->stage.baseline;
  for (std::size_t i = index; i-- > 0;) {
    const PlottedRun& earlier = runs[i];
    const bool is_like = earlier.run->batch == own.run->batch &&
                         earlier.run->layers.size() == own.run->layers.size() &&
                         earlier.result->solution == own.result->solution;
    const bool is_named = earlier.run->stage.id == named && earlier.run->device == own.run->device;
    if (is_like && (named.empty() || is_named)) return &earlier;
  }
  return nullptr;
}

std::string joined(const std::set<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string short_name(const PlottedRun& run, const std::vector<PlottedRun>& runs) {
  const std::string name = run.result->milestone + " " + run.run->stage.id;
  const bool twice = std::ranges::any_of(runs, [&](const PlottedRun& other) {
    return other.result->milestone == run.result->milestone &&
           other.run->stage.id == run.run->stage.id &&
           other.result->solution != run.result->solution;
  });
  return twice ? name + " (" + run.result->solution + ")" : name;
}

std::string caption_of(const std::vector<PlottedRun>& runs, const std::string& network,
                       const std::string& bars) {
  std::set<std::string> machines;
  std::set<std::string> compilers;
  std::set<std::string> commits;
  std::set<std::string> dates;
  std::set<std::size_t> samples;
  for (const PlottedRun& item : runs) {
    machines.insert(machine_text(item.result->machine));
    compilers.insert(item.result->machine.compiler);
    commits.insert(item.result->machine.commit);
    dates.insert(date_of(item.result->created));
    for (const LayerResult& layer : item.run->layers) samples.insert(layer.op_ms.size());
  }
  return joined(machines) + " · " + joined(compilers) + " · network " + network + " · " +
         samples_text(samples, bars) + " · commit " + joined(commits) + " · " + joined(dates);
}

std::optional<Figure> op_times(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  if (runs.empty()) return std::nullopt;
  RowFigure figure({.name = "op-time-" + network,
                    .title = "Op time, stage by stage",
                    .caption = caption_of(runs, network),
                    .x = {.title = "op time, milliseconds (log scale)"},
                    .y = {.title = "stage"}},
                   runs);
  for (const PlottedRun& item : runs) {
    Panel& panel = figure.panel(item.run->batch);
    const StageInfo& stage = item.run->stage;
    const PlottedTimes times = times_of(*item.run);
    figure.add(panel, short_name(item, runs), stage.title.empty() ? stage.id : stage.title, times,
               three_digits(times.sum.median));
    if (panel.rules.empty()) panel.rules = rules_at(results, network, item.run->batch);
  }
  return figure.finish();
}

std::optional<Figure> speed_ups(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  std::vector<PlottedRun> compared;
  std::vector<const PlottedRun*> baselines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlottedRun* baseline = baseline_of(runs, i);
    if (baseline == nullptr) continue;
    compared.push_back(runs[i]);
    baselines.push_back(baseline);
  }
  if (compared.empty()) return std::nullopt;
  RowFigure figure({.name = "speed-up-" + network,
                    .title = "What each step bought",
                    .caption = caption_of(runs, network),
                    .x = {.title = "times as fast as the second of the two stages (log scale)"},
                    .y = {.title = "step"},
                    .origin = 1.0},
                   compared);
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const PlottedTimes before = times_of(*baselines[i]->run);
    const PlottedTimes own = times_of(*compared[i].run);
    PlottedTimes ratios{.layers = {}, .sum = ratio(before.sum, own.sum)};
    for (std::size_t layer = 0; layer < own.layers.size(); ++layer) {
      ratios.layers.push_back(ratio(before.layers[layer], own.layers[layer]));
    }
    const std::string name =
        short_name(compared[i], runs) + " over " + short_name(*baselines[i], runs);
    figure.add(figure.panel(compared[i].run->batch), name, name, ratios,
               three_digits(ratios.sum.median));
  }
  return figure.finish();
}

std::optional<Figure> roofline(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = runs_on_gpu(results, network);
  if (runs.empty()) return std::nullopt;
  const MachineInfo& machine = runs.back().result->machine;
  const DeviceLimits limits = with_measured(machine.promised, machine.measured);
  const double slope = limits.bytes_per_second * kTera;
  const double fp32 = limits.fp32_per_second * kTera;
  if (!(slope > 0.0 && fp32 > 0.0)) return std::nullopt;
  std::vector<std::pair<double, std::string>> ceilings = {{fp32, "fp32 "}};
  if (std::ranges::any_of(
          runs,
          [](const PlottedRun& item) { return item.run->stage.precision == Precision::kFp16; }) &&
      limits.fp16_per_second > 0.0) {
    ceilings.emplace_back(limits.fp16_per_second * kTera, "fp16 ");
  }
  const double roof = ceilings.back().first;
  Figure figure{.name = "roofline-" + network,
                .form = Figure::Form::kLines,
                .title = "Roofline",
                .caption = caption(runs.back()),
                .x = {.title = "operations for each byte that must be moved (log scale)"},
                .y = {.title = "TFLOP/s (log scale)", .low = fp32, .high = std::max(fp32, roof)},
                .panels = std::vector<Panel>(1)};
  std::vector<Series> layers;
  for (std::size_t i = 0; i < runs.back().run->layers.size(); ++i) {
    const LayerResult& of_layer = runs.back().run->layers[i];
    const double intensity = tera_operations(of_layer) / kTera /
                             static_cast<double>(compulsory_traffic(of_layer.shape).bytes());
    figure.x.include(intensity);
    Series& series = layers.emplace_back(Series{.label = "op " + std::to_string(i + 1),
                                                .colour = static_cast<int>(i),
                                                .symbol = static_cast<int>(i)});
    for (const PlottedRun& item : runs) {
      const LayerResult& layer = item.run->layers[i];
      const double speed = tera_operations(layer) / (spread_of(layer.op_ms).median * 1e-3);
      figure.y.include(speed);
      series.marks.push_back(
          {intensity, speed, speed, speed, short_name(item, runs) + "  " + three_digits(speed)});
    }
  }
  // Room for the labels beside the layers.
  figure.x.low /= 24.0;
  figure.x.high *= 9.0;
  figure.y.low /= 2.5;
  figure.y.high *= 2.0;
  const auto line = [&](const std::string& label, int colour, Series::Line kind, double x0,
                        double y0, double x1, double y1) {
    figure.panels[0].series.push_back(
        {label, colour, -1, kind, {{x0, y0, y0, y0}, {x1, y1, y1, y1}}});
  };
  const double left = std::max(figure.x.low, figure.y.low / slope);
  const std::string memory = "memory " + three_digits(slope) + " TB/s";
  line(memory, kInk, Series::Line::kThick, left, left * slope, roof / slope, roof);
  // Above the line, which rises to the right; below it are the labels of the points.
  constexpr double kWidth = 0.18;
  const double begin = figure.x.at(figure.x.share(left) + 0.01);
  const double height = figure.y.share(figure.x.at(figure.x.share(left) + kWidth) * slope) + 0.03;
  figure.labels.push_back({.x = begin,
                           .y = figure.y.at(height),
                           .column = begin,
                           .text_y = figure.y.at(height),
                           .colour = kInk,
                           .text = memory});
  std::vector<Label> names;
  for (const auto& [peak, name] : ceilings) {
    line(name + three_digits(peak), kInk, Series::Line::kThick, peak / slope, peak, figure.x.high,
         peak);
    names.push_back({.x = figure.x.high,
                     .y = peak,
                     .column = figure.x.at(1.01),
                     .colour = kInk,
                     .text = name + three_digits(peak)});
  }
  figure.add_labels(std::move(names));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Series& layer = layers[i];
    const double x = layer.marks.front().at;
    const double foot = figure.y.at(0.06);
    line("", layer.colour, Series::Line::kDotted, x, foot, x, std::min(x * slope, roof));
    // Between two layers there is no room for the labels of both.
    const bool to_the_left = i == 0 && layers.size() > 1;
    figure.labels.push_back({.x = x,
                             .y = foot,
                             .column = x,
                             .text_y = figure.y.at(0.03),
                             .to_the_left = !to_the_left,
                             .colour = layer.colour,
                             .text = layer.label});
    std::vector<Label> column;
    for (const Mark& mark : layer.marks) {
      column.push_back({.x = x,
                        .y = mark.value,
                        .column = figure.x.at(figure.x.share(x) + (to_the_left ? -0.04 : 0.04)),
                        .to_the_left = to_the_left,
                        .colour = layer.colour,
                        .text = mark.text});
    }
    figure.add_labels(std::move(column));
    figure.panels[0].series.push_back(std::move(layer));
  }
  return figure;
}

std::vector<Figure> figures_of(const std::vector<Result>& results, const std::string& network) {
  std::vector<Figure> figures;
  for (auto& figure :
       {op_times(results, network), speed_ups(results, network), roofline(results, network)}) {
    if (figure) figures.push_back(*figure);
  }
  return figures;
}

}  // namespace convlab::grader
