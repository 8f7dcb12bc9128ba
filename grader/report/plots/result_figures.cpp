#include "grader/report/plots/result_figures.hpp"

#include <algorithm>
#include <array>
#include <iterator>
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

std::vector<Spread> op_times_of(const RunResult& run) {
  std::vector<Spread> times;
  Spread sum;
  for (const LayerResult& layer : run.layers) {
    const Spread& spread = times.emplace_back(spread_of(layer.op_ms));
    // The layers are timed one after the other, so the sums of their quartiles bound those of the
    // sum.
    sum.median += spread.median;
    sum.lower_quartile += spread.lower_quartile;
    sum.upper_quartile += spread.upper_quartile;
  }
  times.push_back(sum);
  return times;
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

/// Times or ratios of each convolution at one batch, and last of their sum.
struct Row {
  int batch;
  std::string name;  ///< tells rows apart; two may have the same title
  std::string title;
  std::vector<Spread> values;
};

// Adds a panel for each batch. They share their rows.
Figure with_rows(Figure figure, const std::vector<Row>& rows) {
  constexpr int kTriangle = 2;  // the symbol of sums
  std::map<int, Panel> panels;
  std::vector<std::string> names;
  for (const Row& row : rows) {
    Panel& panel = panels[row.batch];
    panel.title = "batch " + grouped(row.batch);
    const auto known = std::ranges::find(names, row.name);
    const auto at = static_cast<double>(known - names.begin());
    if (known == names.end()) {
      names.push_back(row.name);
      figure.rows.push_back(row.title);
    }
    const double whole = row.values.back().median;
    Mark bar{.at = at, .value = whole, .low = whole, .high = whole, .text = three_digits(whole)};
    const int layers = static_cast<int>(row.values.size()) - 1;
    for (int i = 0; i < layers + (layers == 1 ? 0 : 1); ++i) {
      const Spread& value = row.values[static_cast<std::size_t>(i)];
      const bool is_sum = i == layers;
      const std::string label = is_sum ? "sum" : "op " + std::to_string(i + 1);
      auto series = std::ranges::find(panel.series, label, &Series::label);
      if (series == panel.series.end()) {
        const int symbol = is_sum ? kTriangle : i < kTriangle ? i : i + 1;
        panel.series.push_back({.label = label, .colour = is_sum ? kInk : i, .symbol = symbol});
        series = panel.series.end() - 1;
      }
      series->marks.push_back({at, value.median, value.lower_quartile, value.upper_quartile});
      figure.x.include(value.lower_quartile);
      figure.x.include(value.upper_quartile);
      bar.low = std::min(bar.low, value.median);
      bar.high = std::max(bar.high, value.upper_quartile);
    }
    if (figure.origin > 0.0) bar.low = figure.origin;
    panel.bars.push_back(std::move(bar));
  }
  if (figure.origin > 0.0) figure.x.include(figure.origin);
  for (auto& [batch, panel] : panels) {
    // Drawn last, and last in the key.
    std::ranges::stable_partition(panel.series,
                                  [](const auto& each) { return each.label != "sum"; });
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

constexpr const char* kBars = " · bars: middle half";
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
  const auto batch_of = [](const PlottedRun& item) { return item.run->batch; };
  const RunResult& largest = *std::ranges::max_element(runs, {}, batch_of)->run;
  std::erase_if(runs, [&](const PlottedRun& item) {
    return item.run->batch != largest.batch || item.run->layers.size() != largest.layers.size();
  });
  return runs;
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
          &run, &result, op_times_of(run)};
    }
  }
  std::vector<PlottedRun> runs;
  for (auto& [key, item] : latest) runs.push_back(std::move(item));
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

std::string full_name(const PlottedRun& run) {
  const std::string& milestone = run.result->milestone;
  const std::string& stage = run.run->stage.id;
  return milestone.ends_with("-" + stage) ? milestone : milestone + " " + stage;
}

std::string short_name(const PlottedRun& run, const std::vector<PlottedRun>& runs) {
  const std::string name = full_name(run);
  const bool twice = std::ranges::any_of(runs, [&](const PlottedRun& other) {
    return other.result->milestone == run.result->milestone &&
           other.run->stage.id == run.run->stage.id &&
           other.result->solution != run.result->solution;
  });
  return twice ? name + " (" + run.result->solution + ")" : name;
}

std::string caption_of(const std::vector<PlottedRun>& runs, const std::string& network) {
  std::set<std::string> machines;
  std::set<std::string> compilers;
  std::set<std::string> commits;
  std::set<std::string> dates;
  std::set<std::size_t> samples;
  for (const PlottedRun& item : runs) {
    const MachineInfo& machine = item.result->machine;
    machines.insert(machine.gpu.empty()
                        ? machine.cpu + ", " + std::to_string(machine.cores) + " cores"
                        : machine.gpu + ", driver " + machine.driver);
    compilers.insert(machine.compiler);
    commits.insert(machine.commit);
    dates.insert(date_of(item.result->created));
    for (const LayerResult& layer : item.run->layers) samples.insert(layer.op_ms.size());
  }
  const std::string fewest = samples.size() > 1 ? std::to_string(*samples.begin()) + " to " : "";
  return joined(machines) + " · " + joined(compilers) + " · network " + network + " · " +
         (*samples.rbegin() == 1 ? "one sample"
                                 : "median of " + fewest + std::to_string(*samples.rbegin())) +
         " · commit " + joined(commits) + " · " + joined(dates);
}

namespace {

std::optional<Figure> op_times(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  if (runs.empty()) return std::nullopt;
  std::vector<Row> rows;
  std::set<int> batches;
  for (const PlottedRun& item : runs) {
    const StageInfo& stage = item.run->stage;
    rows.push_back({item.run->batch, short_name(item, runs),
                    stage.title.empty() ? stage.id : stage.title, item.op_ms});
    batches.insert(item.run->batch);
  }
  std::map<std::string, std::set<std::string>> names;  // by title
  for (const Row& row : rows) names[row.title].insert(row.name);
  for (Row& row : rows) {
    if (names[row.title].size() > 1) row.title = row.name;
  }
  Figure figure = with_rows({.name = "op-time-" + network,
                             .title = "Op time, stage by stage",
                             .caption = caption_of(runs, network) + kBars,
                             .x = {.title = "op time, milliseconds (log scale)"},
                             .y = {.title = "stage"}},
                            rows);
  auto panel = figure.panels.begin();
  for (const int batch : batches) {
    panel->rules = rules_at(results, network, batch);
    for (const Rule& rule : panel->rules) figure.x.include(rule.value);
    ++panel;
  }
  return figure;
}

// A stage without a baseline in the results is left out. The bars are the quotients of opposite
// quartiles.
std::optional<Figure> speed_ups(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlottedRun* const baseline = baseline_of(runs, i);
    if (baseline == nullptr) continue;
    const std::string name = short_name(runs[i], runs) + " over " + short_name(*baseline, runs);
    Row& row = rows.emplace_back(Row{runs[i].run->batch, name, name, {}});
    std::ranges::transform(baseline->op_ms, runs[i].op_ms, std::back_inserter(row.values),
                           [](const Spread& before, const Spread& own) {
                             return Spread{before.median / own.median,
                                           before.lower_quartile / own.upper_quartile,
                                           before.upper_quartile / own.lower_quartile};
                           });
  }
  if (rows.empty()) return std::nullopt;
  return with_rows({.name = "speed-up-" + network,
                    .title = "What each step bought",
                    .caption = caption_of(runs, network) + kBars,
                    .x = {.title = "times as fast as the second of the two stages (log scale)"},
                    .y = {.title = "step"},
                    .origin = 1.0},
                   rows);
}

// Of many that lie on one another the highest.
std::vector<Mark> told_apart(std::vector<Mark> marks, const Axis& axis) {
  constexpr std::size_t kFew = 10;
  constexpr double kLabel = 0.025;  // of the height
  if (marks.size() <= kFew) return marks;
  std::ranges::sort(marks, std::ranges::greater(), &Mark::value);
  double last = 2.0;
  std::erase_if(marks, [&](const Mark& mark) {
    const double share = axis.share(mark.value);
    return last - share < kLabel || (last = share, false);
  });
  return marks;
}

/// What the machine can do at most, in TFLOP/s and TB/s.
struct Roof {
  double slope = 0.0;
  std::vector<std::pair<double, std::string>> ceilings{};  ///< rising; each with its name

  [[nodiscard]] double top() const { return ceilings.back().first; }
};

// The limit of fp16 is drawn only if a stage uses tensor cores.
std::optional<Roof> roof_over(const std::vector<PlottedRun>& runs) {
  const MachineInfo& machine = runs.back().result->machine;
  const DeviceLimits limits = with_measured(machine.promised, machine.measured);
  const double fp32 = limits.fp32_per_second * kTera;
  const double fp16 = limits.fp16_per_second * kTera;
  Roof roof{limits.bytes_per_second * kTera, {{fp32, "fp32 " + three_digits(fp32)}}};
  if (!(roof.slope > 0.0 && fp32 > 0.0)) return std::nullopt;
  if (fp16 > 0.0 && std::ranges::any_of(runs, [](const PlottedRun& item) {
        return item.run->stage.precision == Precision::kFp16;
      })) {
    roof.ceilings.emplace_back(fp16, "fp16 " + three_digits(fp16));
  }
  return roof;
}

// The points of each layer; the axes take them in.
std::vector<Series> layers_of(const std::vector<PlottedRun>& runs, Figure& figure) {
  std::vector<Series> layers;
  for (std::size_t i = 0; i < runs.back().run->layers.size(); ++i) {
    const LayerResult& of_layer = runs.back().run->layers[i];
    const double intensity = tera_operations(of_layer) / kTera /
                             static_cast<double>(compulsory_traffic(of_layer.shape).bytes());
    figure.x.include(intensity);
    const int look = static_cast<int>(i);
    Series& series = layers.emplace_back(
        Series{.label = "op " + std::to_string(i + 1), .colour = look, .symbol = look});
    for (const PlottedRun& item : runs) {
      const double speed = tera_operations(item.run->layers[i]) / (item.op_ms[i].median * 1e-3);
      figure.y.include(speed);
      series.marks.push_back(
          {intensity, speed, speed, speed, short_name(item, runs) + "  " + three_digits(speed)});
    }
  }
  return layers;
}

void add_line(Figure& figure, const std::string& label, int colour, Series::Line kind,
              const std::array<double, 4>& from_to) {
  const auto& [x0, y0, x1, y1] = from_to;
  figure.panels[0].series.push_back(
      {label, colour, -1, kind, {{x0, y0, y0, y0}, {x1, y1, y1, y1}}});
}

void draw_roof(const Roof& roof, Figure& figure) {
  const double left = std::max(figure.x.low, figure.y.low / roof.slope);
  const std::string memory = "memory " + three_digits(roof.slope) + " TB/s";
  add_line(figure, memory, kInk, Series::Line::kThick,
           {left, left * roof.slope, roof.top() / roof.slope, roof.top()});
  // Above the line, which rises to the right; below it are the labels of the points.
  constexpr double kWidth = 0.18;
  const double begin = figure.x.at(figure.x.share(left) + 0.01);
  const double end = figure.x.at(figure.x.share(left) + kWidth);
  const double height = figure.y.at(figure.y.share(end * roof.slope) + 0.03);
  figure.labels.push_back({begin, height, begin, height, false, kInk, memory});
  std::vector<Label> names;
  for (const auto& [peak, name] : roof.ceilings) {
    add_line(figure, name, kInk, Series::Line::kThick,
             {peak / roof.slope, peak, figure.x.high, peak});
    names.push_back({figure.x.high, peak, figure.x.at(1.01), peak, false, kInk, name});
  }
  figure.add_labels(std::move(names));
}

void draw_layers(std::vector<Series> layers, const Roof& roof, Figure& figure) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Series& layer = layers[i];
    const double x = layer.marks.front().at;
    const double foot = figure.y.at(0.06);
    add_line(figure, "", layer.colour, Series::Line::kDotted,
             {x, foot, x, std::min(x * roof.slope, roof.top())});
    // Between two layers there is no room for the labels of both.
    const bool to_the_left = i == 0 && layers.size() > 1;
    const double beside = figure.x.at(figure.x.share(x) + (to_the_left ? -0.04 : 0.04));
    figure.labels.push_back(
        {x, foot, x, figure.y.at(0.03), !to_the_left, layer.colour, layer.label});
    std::vector<Label> column;
    std::size_t letters = 0;
    for (const Mark& mark : told_apart(layer.marks, figure.y)) {
      column.push_back({x, mark.value, beside, mark.value, to_the_left, layer.colour, mark.text});
      letters = std::max(letters, mark.text.size());
    }
    // Those to the left keep below the line of the memory, which they would cover.
    constexpr double kLetter = 0.011;  // of the width
    const double begin = figure.x.share(beside) - kLetter * static_cast<double>(letters);
    const double under_line = figure.y.share(figure.x.at(begin) * roof.slope) - 0.01;
    figure.add_labels(std::move(column), to_the_left ? under_line : 1.0);
    figure.panels[0].series.push_back(std::move(layer));
  }
}

// Attainable speed over arithmetic intensity, that of the convolution itself: each input and output
// moved once.
std::optional<Figure> roofline(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = runs_on_gpu(results, network);
  const auto roof = runs.empty() ? std::nullopt : roof_over(runs);
  if (!roof) return std::nullopt;
  const bool is_measured = runs.back().result->machine.measured.bytes_per_second > 0.0;
  Figure figure{.name = "roofline-" + network,
                .title = "Roofline",
                .caption = caption_of(runs, network) + " · batch " +
                           grouped(runs.back().run->batch) + ", ceilings " +
                           (is_measured ? "measured" : "promised"),
                .x = {.title = "operations for each byte that must be moved (log scale)"},
                .y = {.title = "TFLOP/s (log scale)",
                      .low = roof->ceilings.front().first,
                      .high = std::max(roof->ceilings.front().first, roof->top())},
                .panels = std::vector<Panel>(1)};
  std::vector<Series> layers = layers_of(runs, figure);
  // Room for the labels beside the layers.
  figure.x.low /= 24.0;
  figure.x.high *= 9.0;
  figure.y.low /= 2.5;
  figure.y.high *= 2.0;
  draw_roof(*roof, figure);
  draw_layers(std::move(layers), *roof, figure);
  return figure;
}

}  // namespace

std::vector<Figure> figures_of(const std::vector<Result>& results, const std::string& network) {
  std::vector<Figure> figures;
  for (auto& figure :
       {op_times(results, network), speed_ups(results, network), roofline(results, network)}) {
    if (figure) figures.push_back(*figure);
  }
  return figures;
}

}  // namespace convlab::grader
