#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "common/timing/three_digits.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

namespace {

PlottedPoint ratio(const PlottedPoint& baseline, const PlottedPoint& own) {
  return {baseline.median / own.median, baseline.low / own.high, baseline.high / own.low};
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
           .high = times.sum.high,
           .text = text};
  const auto add_mark = [&](Series& series, const PlottedPoint& point) {
    series.marks.push_back({row, point.median, point.low, point.high});
    figure_.x.include(point.low);
    figure_.x.include(point.high);
    if (!(figure_.origin > 0.0)) bar.low = std::min(bar.low, point.median);
    bar.high = std::max(bar.high, point.high);
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

}  // namespace

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

std::vector<Figure> figures_of(const std::vector<Result>& results, const std::vector<Result>& rows,
                               const std::string& network) {
  std::vector<Figure> figures;
  for (auto& figure :
       {op_times(rows, network), speed_ups(rows, network), roofline(results, network)}) {
    if (figure) figures.push_back(*figure);
  }
  return figures;
}

}  // namespace convlab::grader
