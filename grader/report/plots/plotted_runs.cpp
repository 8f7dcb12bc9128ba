#include "grader/report/plots/plotted_runs.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <tuple>

#include "common/base/in_threads.hpp"
#include "common/timing/statistics.hpp"

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
    times.layers.push_back({spread.median, spread.lower_quartile, spread.upper_quartile});
    // The layers are timed one after the other, so the sums of their quartiles bound those of the
    // sum.
    times.sum.median += spread.median;
    times.sum.low += spread.lower_quartile;
    times.sum.high += spread.upper_quartile;
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
    constexpr std::size_t kDate = 10;
    dates.insert(item.result->created.substr(0, kDate));
    for (const LayerResult& layer : item.run->layers) samples.insert(layer.op_ms.size());
  }
  return joined(machines) + " · " + joined(compilers) + " · network " + network + " · " +
         samples_text(samples, bars) + " · commit " + joined(commits) + " · " + joined(dates);
}

}  // namespace convlab::grader
