#include <algorithm>
#include <map>
#include <set>

#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

std::optional<Figure> op_by_batch(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  Figure figure{.name = "op-by-batch-" + network,
                .form = Figure::Form::kLines,
                .title = "Op time against batch",
                .caption = caption_of(runs, network),
                .x = {.title = "batch, images (log scale)"},
                .y = {.title = "op time, milliseconds (log scale)"},
                .panels = std::vector<Panel>(1)};
  Panel& panel = figure.panels.front();
  const auto add = [&](Series& series, int batch, const PlottedPoint& time) {
    series.marks.push_back({static_cast<double>(batch), time.median, time.low, time.high});
    figure.x.include(batch);
    figure.y.include(time.low);
    figure.y.include(time.high);
  };
  // Lines of a milestone share a colour and differ in their symbols.
  std::map<std::string, int> colours;
  std::map<int, std::set<std::string>> names;
  std::set<int> batches;
  for (const PlottedRun& item : runs) {
    batches.insert(item.run->batch);
    Series& series = series_of(panel, short_name(item, runs));
    const auto next = static_cast<int>(colours.size());
    series.colour = colours.try_emplace(item.result->milestone, next).first->second;
    names[series.colour].insert(series.label);
    series.symbol = static_cast<int>(names[series.colour].size()) - 1;
    series.line = Series::Line::kSolid;
    add(series, item.run->batch, times_of(*item.run).sum);
  }
  if (std::ranges::all_of(panel.series,
                          [](const Series& series) { return series.marks.size() < 2; })) {
    return std::nullopt;
  }
  for (const int batch : batches) {
    for (const KnownTime& time : known_times(results, network, batch)) {
      Series& series = series_of(panel, time.label);
      series.colour = time.colour;
      series.symbol = -1;
      series.line = time.colour == kBoundColour ? Series::Line::kDashed : Series::Line::kDotted;
      add(series, batch, {time.milliseconds, time.milliseconds, time.milliseconds});
    }
  }
  figure.x.low /= 1.15;
  figure.x.high *= 1.08;
  figure.y.low /= 1.8;
  figure.y.high *= 1.8;
  // A tic for each batch, with its number if there is room.
  constexpr double kRoom = 0.08;
  double next = 2.0;
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    const bool fits = next - figure.x.share(*batch) >= kRoom;
    if (fits) next = figure.x.share(*batch);
    figure.x.tics.emplace_back(*batch, fits ? grouped(*batch) : "");
  }
  figure.label_ends();
  return figure;
}

}  // namespace convlab::grader
