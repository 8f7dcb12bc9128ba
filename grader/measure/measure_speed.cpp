#include "grader/measure/measure_speed.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "common/base/run_process.hpp"
#include "common/data/random.hpp"
#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "grader/checks/network_check.hpp"
#include "grader/measure/time_layer.hpp"

namespace convlab::grader {

namespace {

// "97 % busy, 84 °C and slowed down by heat"; empty if a time can be taken now.
std::string disturbance() {
  // The first GPU that this process may use; nvidia-smi reads the variable's form of a list.
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string devices = visible == nullptr ? "0" : visible;
  const FinishedProcess run = run_process(
      {.words = {"nvidia-smi", "--id=" + devices.substr(0, devices.find(',')),
                 "--query-gpu=utilization.gpu,temperature.gpu,clocks_throttle_reasons.hw_thermal_"
                 "slowdown,clocks_throttle_reasons.sw_thermal_slowdown",
                 "--format=csv,noheader,nounits"},
       .time_limit = std::chrono::seconds(20)});
  if (!run.succeeded()) return {};
  constexpr int kBusy = 10;  // percent of the last second, which another program used
  std::istringstream line(run.output);
  int busy = 0;
  int degrees = 0;
  char comma = ',';
  line >> busy >> comma >> degrees;
  // "97, 84, Not Active, Active"
  const bool is_hot = run.output.find(", Active") != std::string::npos;
  if (!line || (busy < kBusy && !is_hot)) return {};
  return std::to_string(busy) + " % busy, " + std::to_string(degrees) + " °C" +
         (is_hot ? ", slowed down by heat" : "");
}

// The bound of all convolutions together, if the device's limits are known.
std::optional<double> bound_of(const RunResult& run, const MeasuredDevice& device) {
  const DeviceLimits limits = with_measured(limits_of(device.info), device.limits);
  double sum = 0.0;
  for (const LayerResult& layer : run.layers) {
    const double bound = physical_bound(layer.shape, limits, run.stage.precision).ms();
    if (bound <= 0.0) return std::nullopt;
    sum += bound;
  }
  return sum;
}

// Or nobody waits for it any longer.
std::atomic<bool> gpu_is_quiet = false;

void append(std::vector<std::vector<double>>& all, std::size_t layer,
            const std::vector<double>& samples) {
  if (layer >= all.size()) all.resize(layer + 1);
  all[layer].insert(all[layer].end(), samples.begin(), samples.end());
}

double median_of(std::vector<double> samples) {
  return spread_of(std::move(samples)).median;
}

// Pairs stay pairs: a moment that slowed both must not look like a difference.
double resampled_speed(const SpeedMeasure& measure, Random& random) {
  double reference = 0.0;
  double yours = 0.0;
  for (std::size_t layer = 0; layer < measure.yours_ms.size(); ++layer) {
    const std::size_t count = measure.yours_ms[layer].size();
    std::vector<double> drawn_reference(count);
    std::vector<double> drawn_yours(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto pick = static_cast<std::size_t>(random.below(static_cast<int>(count)));
      drawn_reference[i] = measure.reference_ms[layer][pick];
      drawn_yours[i] = measure.yours_ms[layer][pick];
    }
    reference += median_of(std::move(drawn_reference));
    yours += median_of(std::move(drawn_yours));
  }
  return reference / yours;
}

std::size_t fewest_pairs(const SpeedMeasure& measure) {
  std::size_t fewest = measure.yours_ms.front().size();
  for (const std::vector<double>& samples : measure.yours_ms) {
    fewest = std::min(fewest, samples.size());
  }
  return fewest;
}

double deviation_of_logarithms(const std::vector<double>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += std::log(value);
    squares += std::log(value) * std::log(value);
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

}  // namespace

void estimate_speed(SpeedMeasure& measure) {
  measure.speed = sum_of_medians(measure.reference_ms) / sum_of_medians(measure.yours_ms);
  constexpr int kDraws = 1000;
  constexpr double kBeyond = 0.025;
  Random random(1);
  std::vector<double> speeds(kDraws);
  std::generate(speeds.begin(), speeds.end(), [&] { return resampled_speed(measure, random); });
  std::ranges::sort(speeds);
  const auto outside = static_cast<std::size_t>(kBeyond * kDraws);
  measure.low = speeds[outside];
  measure.high = speeds[kDraws - 1 - outside];

  // Draws from few pairs never leave their range: with three pairs, the percentiles contain the
  // truth in only three of four cases. Student's t accounts for few samples.
  constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776};  // 97.5 %, from 2 pairs on
  const std::size_t pairs = fewest_pairs(measure);
  if (pairs < 2 || pairs - 2 >= kStudent.size()) return;
  const auto count = static_cast<double>(pairs);
  const double error = deviation_of_logarithms(speeds) * std::sqrt(count / (count - 1.0));
  measure.low = measure.speed * std::exp(-kStudent[pairs - 2] * error);
  measure.high = measure.speed * std::exp(kStudent[pairs - 2] * error);
}

void look_at_gpu() {
  if (disturbance().empty()) gpu_is_quiet = true;
}

void wait_for_quiet_gpu(const Announce& announce) {
  // Once: afterwards the load is this check's own.
  if (gpu_is_quiet.exchange(true)) return;
  constexpr int kLooks = 60;
  std::string seen = disturbance();
  for (int look = 0; look < kLooks && !seen.empty(); ++look) {
    announce("waiting until the GPU is idle and cool: " + seen);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    seen = disturbance();
  }
  if (!seen.empty()) announce("waiting no longer: the GPU is still " + seen);
}

SpeedOutcome measure_speed(Submission& submission, const SpeedRequest& request,
                           const GradedNetwork& network, const Announce& announce) {
  SpeedOutcome outcome{.stage = request.stage.id, .batch = request.batch};
  SpeedMeasure measure{.reference = request.reference};
  if (submission.device().device == Device::kGpu) wait_for_quiet_gpu(announce);
  bool settled = false;
  while (!settled && measure.rounds < request.rounds) {
    ++measure.rounds;
    const std::string round = measure.rounds == 1
                                  ? ""
                                  : ", noise decides: round " + std::to_string(measure.rounds) +
                                        " of " + std::to_string(request.rounds);
    ReferenceTimes times(request.program, request.reference);
    const LayerTimer in_turns = [&](const CheckedLayer& layer, LayerResult& result) {
      announce(request.stage.id + ": in turns with the reference, convolution " +
               std::to_string(layer.index + 1) + round);
      return time_layer(submission, request.stage, layer, result, &times);
    };
    const NetworkOutcome run = check_network(submission, request.stage,
                                             task_of(network, request.batch), announce, in_turns);
    if (run.finding) {
      outcome.finding = run.finding;
      return outcome;
    }
    if (times.problem()) {
      outcome.why_not = *times.problem();
      return outcome;
    }
    measure.bound_ms = bound_of(run.result, times.device());
    for (std::size_t layer = 0; layer < run.result.layers.size(); ++layer) {
      append(measure.yours_ms, layer, run.result.layers[layer].op_ms);
      append(measure.reference_ms, layer, times.op_ms().at(layer));
    }
    estimate_speed(measure);
    settled = request.is_settled(measure);
  }
  outcome.measure = std::move(measure);
  return outcome;
}

}  // namespace convlab::grader
