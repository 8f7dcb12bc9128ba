#include "grader/plots/ladder.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "common/timing/statistics.hpp"

namespace convlab::grader {

namespace {

/// A run with the result that it comes from.
struct Run {
  const RunResult* run;
  const Result* result;
};

// An emulated device has no op time, a wrong result no time at all.
bool is_plotted(const RunResult& run) {
  return run.device != Device::kEmulated && run.verdict != Verdict::kFailed &&
         !run.layers.empty() &&
         std::all_of(run.layers.begin(), run.layers.end(),
                     [](const LayerResult& layer) { return !layer.op_ms.empty(); });
}

LadderRow row_of(const RunResult& run) {
  LadderRow row{.title = run.stage.title.empty() ? run.stage.id : run.stage.title, .layers = {}};
  for (const LayerResult& layer : run.layers) {
    const Spread spread = spread_of(layer.op_ms);
    row.layers.push_back({spread.median, spread.lower_quartile, spread.upper_quartile});
    // The layers are timed one after the other, so their quartiles add up to bounds of the sum's.
    row.sum.median += spread.median;
    row.sum.low += spread.lower_quartile;
    row.sum.high += spread.upper_quartile;
  }
  return row;
}

std::string joined(const std::set<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string machine_text(const MachineInfo& machine) {
  if (!machine.gpu.empty()) {
    return machine.gpu + (machine.driver.empty() ? "" : ", driver " + machine.driver);
  }
  return machine.cpu + ", " + std::to_string(machine.cores) +
         (machine.cores == 1 ? " core" : " cores");
}

std::string samples_text(const std::set<std::size_t>& counts) {
  if (*counts.rbegin() == 1) return "one sample";
  std::string text = "median of ";
  if (counts.size() > 1) text += std::to_string(*counts.begin()) + " to ";
  return text + std::to_string(*counts.rbegin()) + ", bars: middle half";
}

// What a reader needs in order to trust the numbers.
std::string caption_of(const std::vector<Run>& runs, const std::string& network) {
  std::set<std::string> machines;
  std::set<std::string> compilers;
  std::set<std::string> commits;
  std::set<std::string> dates;
  std::set<std::size_t> samples;
  for (const Run& item : runs) {
    machines.insert(machine_text(item.result->machine));
    compilers.insert(item.result->machine.compiler);
    commits.insert(item.result->machine.commit);
    constexpr std::size_t kDate = 10;
    dates.insert(item.result->created.substr(0, kDate));
    for (const LayerResult& layer : item.run->layers) samples.insert(layer.op_ms.size());
  }
  return joined(machines) + " · " + joined(compilers) + " · network " + network + " · " +
         samples_text(samples) + " · commit " + joined(commits) + " · " + joined(dates);
}

}  // namespace

std::vector<std::string> networks_of(const std::vector<Result>& results) {
  std::vector<std::string> networks;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      if (is_plotted(run) &&
          std::find(networks.begin(), networks.end(), run.network) == networks.end()) {
        networks.push_back(run.network);
      }
    }
  }
  return networks;
}

std::optional<Ladder> make_ladder(const std::vector<Result>& results, const std::string& network) {
  // By batch, milestone, place on the ladder, stage and solution: that is also the drawing order.
  using Key = std::tuple<int, std::string, int, std::string, std::string>;
  std::map<Key, Run> latest;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      if (run.network != network || !is_plotted(run)) continue;
      latest[{run.batch, result.milestone, run.stage.order, run.stage.id, result.solution}] = {
          &run, &result};
    }
  }
  if (latest.empty()) return std::nullopt;
  Ladder ladder{.network = network, .caption = {}, .panels = {}};
  std::vector<Run> all;
  for (const auto& [key, item] : latest) {
    const int batch = item.run->batch;
    if (ladder.panels.empty() || ladder.panels.back().batch != batch) {
      ladder.panels.push_back({.batch = batch, .rows = {}, .lines = {}});
    }
    ladder.panels.back().rows.push_back(row_of(*item.run));
    all.push_back(item);
  }
  for (LadderPanel& panel : ladder.panels) {
    for (const Result& result : results) {
      for (const ReferenceLine& line : result.references) {
        if (line.network != network || line.batch != panel.batch) continue;
        const LadderPanel::Line drawn{line.label, line.kind,
                                      std::accumulate(line.op_ms.begin(), line.op_ms.end(), 0.0)};
        const auto same =
            std::find_if(panel.lines.begin(), panel.lines.end(),
                         [&](const auto& other) { return other.label == line.label; });
        if (same == panel.lines.end()) {
          panel.lines.push_back(drawn);
        } else {
          *same = drawn;
        }
      }
    }
    std::sort(panel.lines.begin(), panel.lines.end(),
              [](const auto& a, const auto& b) { return a.milliseconds < b.milliseconds; });
  }
  ladder.caption = caption_of(all, network);
  return ladder;
}

}  // namespace convlab::grader
