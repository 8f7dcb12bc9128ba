#include "grader/plots/ladder.hpp"

#include <algorithm>
#include <numeric>

#include "common/timing/three_digits.hpp"

namespace convlab::grader {

namespace {

std::string title_of(const RunResult& run) {
  return run.stage.title.empty() ? run.stage.id : run.stage.title;
}

LadderPanel& panel_of(Ladder& ladder, int batch) {
  if (ladder.panels.empty() || ladder.panels.back().batch != batch) {
    ladder.panels.push_back({.batch = batch, .rows = {}, .lines = {}});
  }
  return ladder.panels.back();
}

// The run that runs[index] is compared with: the nearest suitable one before it, or null.
const PlottedRun* baseline_of(const std::vector<PlottedRun>& runs, std::size_t index) {
  const PlottedRun& run = runs[index];
  const std::string& named = run.run->stage.baseline;
  for (std::size_t i = index; i-- > 0 && runs[i].run->batch == run.run->batch;) {
    const PlottedRun& earlier = runs[i];
    if (earlier.result->solution != run.result->solution) continue;
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

std::vector<LadderPanel::Line> reference_lines(const std::vector<Result>& results,
                                               const std::string& network, int batch) {
  std::vector<LadderPanel::Line> lines;
  for (const Result& result : results) {
    for (const ReferenceLine& line : result.references) {
      const double sum = std::accumulate(line.op_ms.begin(), line.op_ms.end(), 0.0);
      if (line.network != network || line.batch != batch || !(sum > 0.0)) continue;
      const LadderPanel::Line drawn{line.label, line.kind, sum};
      const auto same = std::find_if(lines.begin(), lines.end(),
                                     [&](const auto& other) { return other.label == line.label; });
      if (same == lines.end()) {
        lines.push_back(drawn);
      } else {
        *same = drawn;
      }
    }
  }
  std::sort(lines.begin(), lines.end(),
            [](const auto& a, const auto& b) { return a.milliseconds < b.milliseconds; });
  return lines;
}

std::optional<Ladder> make_ladder(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  if (runs.empty()) return std::nullopt;
  Ladder ladder{.title = "Op time, stage by stage",
                .axis = "op time, milliseconds (log scale)",
                .file_stem = "op-time-" + network,
                .caption = caption_of(runs, network),
                .panels = {}};
  for (const PlottedRun& item : runs) {
    PlottedTimes times = times_of(*item.run);
    panel_of(ladder, item.run->batch)
        .rows.push_back({.title = title_of(*item.run),
                         .layers = std::move(times.layers),
                         .sum = times.sum,
                         .text = three_digits(times.sum.median)});
  }
  for (LadderPanel& panel : ladder.panels) {
    panel.lines = reference_lines(results, network, panel.batch);
  }
  return ladder;
}

std::optional<Ladder> make_steps(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  Ladder ladder{.title = "What each step bought",
                .axis = "times as fast as the second of the two stages (log scale)",
                .file_stem = "speed-up-" + network,
                .caption = {},
                .origin = 1.0,
                .panels = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlottedRun* baseline = baseline_of(runs, i);
    if (baseline == nullptr) continue;
    const PlottedTimes before = times_of(*baseline->run);
    const PlottedTimes own = times_of(*runs[i].run);
    if (before.layers.size() != own.layers.size()) continue;
    LadderRow row{.title = short_name(runs[i], runs) + " over " + short_name(*baseline, runs),
                  .layers = {},
                  .sum = ratio(before.sum, own.sum),
                  .text = {}};
    for (std::size_t layer = 0; layer < own.layers.size(); ++layer) {
      row.layers.push_back(ratio(before.layers[layer], own.layers[layer]));
    }
    row.text = three_digits(row.sum.median);
    panel_of(ladder, runs[i].run->batch).rows.push_back(std::move(row));
  }
  if (ladder.panels.empty()) return std::nullopt;
  ladder.caption = caption_of(runs, network);
  return ladder;
}

}  // namespace convlab::grader
