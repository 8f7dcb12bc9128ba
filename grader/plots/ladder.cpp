#include "grader/plots/ladder.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "common/timing/three_digits.hpp"

namespace convlab::grader {

namespace {

// One panel for each batch, smallest first.
std::vector<LadderPanel> panels_of(const std::vector<PlottedRun>& runs) {
  std::set<int> batches;
  for (const PlottedRun& item : runs) batches.insert(item.run->batch);
  std::vector<LadderPanel> panels;
  for (const int batch : batches) panels.push_back({.batch = batch});
  return panels;
}

std::size_t panel_of(const Ladder& ladder, const PlottedRun& item) {
  const auto found = std::ranges::find_if(
      ladder.panels, [&](const LadderPanel& panel) { return panel.batch == item.run->batch; });
  return static_cast<std::size_t>(found - ladder.panels.begin());
}

// The run that runs[index] is compared with: the nearest suitable one before it, or null.
const PlottedRun* baseline_of(const std::vector<PlottedRun>& runs, std::size_t index) {
  const PlottedRun& run = runs[index];
  const std::string& named = run.run->stage.baseline;
  for (std::size_t i = index; i-- > 0;) {
    const PlottedRun& earlier = runs[i];
    if (earlier.run->batch != run.run->batch || earlier.result->solution != run.result->solution) {
      continue;
    }
    if (named.empty() ||
        (earlier.run->stage.id == named && earlier.run->device == run.run->device)) {
      return &earlier;
    }
  }
  return nullptr;
}

PlottedPoint ratio(const PlottedPoint& baseline, const PlottedPoint& own) {
  return {baseline.median / own.median, baseline.low / own.high, baseline.high / own.low};
}

}  // namespace

LadderRow& Ladder::row(const std::string& name, const std::string& shown) {
  const auto found = std::ranges::find(rows, name, &LadderRow::name);
  return found != rows.end() ? *found : rows.emplace_back(LadderRow{.name = name, .title = shown});
}

std::vector<LadderLine> reference_lines(const std::vector<Result>& results,
                                        const std::string& network, int batch) {
  std::map<std::string, LadderLine> latest;
  for (const Result& result : results) {
    for (const ReferenceLine& line : result.references) {
      const double sum = std::accumulate(line.op_ms.begin(), line.op_ms.end(), 0.0);
      if (line.network != network || line.batch != batch || !(sum > 0.0)) continue;
      latest[line.label] = {line.label, line.kind, sum};
    }
  }
  std::vector<LadderLine> lines;
  for (const auto& [label, line] : latest) lines.push_back(line);
  std::ranges::sort(lines, {}, &LadderLine::milliseconds);
  return lines;
}

std::optional<Ladder> make_ladder(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  if (runs.empty()) return std::nullopt;
  Ladder ladder{.title = "Op time, stage by stage",
                .axis = "op time, milliseconds (log scale)",
                .file_stem = "op-time-" + network,
                .caption = caption_of(runs, network),
                .panels = panels_of(runs)};
  for (LadderPanel& panel : ladder.panels) {
    panel.lines = reference_lines(results, network, panel.batch);
  }
  for (const PlottedRun& item : runs) {
    const StageInfo& stage = item.run->stage;
    LadderRow& row =
        ladder.row(short_name(item, runs), stage.title.empty() ? stage.id : stage.title);
    PlottedTimes times = times_of(*item.run);
    row.cells[panel_of(ladder, item)] = {.layers = std::move(times.layers),
                                         .sum = times.sum,
                                         .text = three_digits(times.sum.median)};
  }
  return ladder;
}

std::optional<Ladder> make_steps(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  std::vector<PlottedRun> compared;
  std::vector<const PlottedRun*> baselines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlottedRun* baseline = baseline_of(runs, i);
    if (baseline == nullptr || baseline->run->layers.size() != runs[i].run->layers.size()) continue;
    compared.push_back(runs[i]);
    baselines.push_back(baseline);
  }
  if (compared.empty()) return std::nullopt;
  Ladder ladder{.title = "What each step bought",
                .axis = "times as fast as the second of the two stages (log scale)",
                .file_stem = "speed-up-" + network,
                .caption = caption_of(runs, network),
                .origin = 1.0,
                .panels = panels_of(compared)};
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const PlottedTimes before = times_of(*baselines[i]->run);
    const PlottedTimes own = times_of(*compared[i].run);
    LadderCell cell{.sum = ratio(before.sum, own.sum)};
    for (std::size_t layer = 0; layer < own.layers.size(); ++layer) {
      cell.layers.push_back(ratio(before.layers[layer], own.layers[layer]));
    }
    cell.text = three_digits(cell.sum.median);
    const std::string name =
        short_name(compared[i], runs) + " over " + short_name(*baselines[i], runs);
    ladder.row(name, name).cells[panel_of(ladder, compared[i])] = std::move(cell);
  }
  return ladder;
}

}  // namespace convlab::grader
