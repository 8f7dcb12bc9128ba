#include "grader/measure/measure_speed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/data/random.hpp"
#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/measure/network_times.hpp"
#include "grader/measure/quiet_gpu.hpp"

namespace convlab::grader {

namespace {

/// The reference solution, called in turns with a submission and measured in the same way: its
/// times, or the reason for none.
struct ReferenceTimes {
  Submission& submission;
  std::string stage;
  std::vector<std::vector<double>> op_ms{};  ///< in milliseconds, a series per convolution
  std::string problem{};

  /// @param layer  among the network's convolutions
  /// @param given  the arrays of the submission's call
  void call(std::size_t layer, const ConvShape& shape, const Arrays& given) {
    if (layer >= op_ms.size()) op_ms.resize(layer + 1);
    const Arrays arrays = submission.prepare(shape, Placement::kAligned);
    std::copy_n(given.weights, shape.weights_size(), arrays.weights);
    // The submission's first call of a layer is not a sample, and neither is the reference's.
    for (int calls = op_ms[layer].empty() ? 2 : 1; calls > 0 && problem.empty(); --calls) {
      const Call call = submission.run_timed(
          stage, [&] { std::copy_n(given.input, shape.input_size(), arrays.input); });
      const Device device = submission.device().device;
      // An emulated reference has no time to compare with that of a submission on a GPU.
      if (call.failure || device == Device::kEmulated) {
        problem = "the reference does not run here";
      } else if (calls == 1) {
        op_ms[layer].push_back(device == Device::kCpu ? call.own_ms : call.op_ms);
      }
    }
  }
};

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

// Pairs stay pairs: a moment that slowed both must not look like a difference.
double resampled_speed(const SpeedMeasure& measure, Random& random) {
  double reference = 0.0;
  double yours = 0.0;
  for (std::size_t layer = 0; layer < measure.yours_ms.size(); ++layer) {
    std::vector<double> drawn_reference;
    std::vector<double> drawn_yours;
    const int count = static_cast<int>(measure.yours_ms[layer].size());
    for (int i = 0; i < count; ++i) {
      const auto pick = static_cast<std::size_t>(random.below(count));
      drawn_reference.push_back(measure.reference_ms[layer][pick]);
      drawn_yours.push_back(measure.yours_ms[layer][pick]);
    }
    reference += spread_of(std::move(drawn_reference)).median;
    yours += spread_of(std::move(drawn_yours)).median;
  }
  return reference / yours;
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
  const std::size_t pairs =
      std::ranges::min_element(measure.yours_ms, {}, &std::vector<double>::size)->size();
  if (pairs < 2 || pairs - 2 >= kStudent.size()) return;
  const auto count = static_cast<double>(pairs);
  const double error = deviation_of_logarithms(speeds) * std::sqrt(count / (count - 1.0));
  measure.low = measure.speed * std::exp(-kStudent[pairs - 2] * error);
  measure.high = measure.speed * std::exp(kStudent[pairs - 2] * error);
}

Measured measure_speed(Submission& submission, const SpeedRequest& request,
                       const GradedNetwork& network, const Announce& announce) {
  Measured outcome{.stage = request.stage.id, .batch = request.batch};
  SpeedMeasure measure{.reference = request.reference};
  if (submission.device().device == Device::kGpu) wait_for_quiet_gpu(announce);
  bool settled = false;
  while (!settled && measure.rounds < request.rounds) {
    ++measure.rounds;
    const std::string round = measure.rounds == 1
                                  ? ""
                                  : ", noise decides: round " + std::to_string(measure.rounds) +
                                        " of " + std::to_string(request.rounds);
    ReferenceTimes times{request.program, request.reference};
    NetworkOutcome run = check_network(submission, request.stage, network, request.batch, announce);
    time_network(
        submission, run,
        [&](const std::string& what) {
          announce(request.stage.id + ": in turns with the reference, " + what + round);
        },
        [&](const CheckedLayer& layer, const Arrays& arrays) {
          times.call(static_cast<std::size_t>(layer.index), layer.shape, arrays);
        });
    outcome.finding = run.finding;
    outcome.why_not = times.problem;
    if (outcome.finding || !outcome.why_not.empty()) return outcome;
    // The device as the reference's program measured it: a submission that lies about its device
    // could reach any bound.
    measure.bound_ms = bound_of(run.result, times.submission.device().measured);
    const std::size_t layers = run.result.layers.size();
    measure.yours_ms.resize(layers);
    measure.reference_ms.resize(layers);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      std::ranges::copy(run.result.layers[layer].op_ms,
                        std::back_inserter(measure.yours_ms[layer]));
      std::ranges::copy(times.op_ms.at(layer), std::back_inserter(measure.reference_ms[layer]));
    }
    estimate_speed(measure);
    settled = request.is_settled(measure);
  }
  if ((outcome.finding = find_idle_work(submission))) return outcome;
  outcome.speed = std::move(measure);
  return outcome;
}

}  // namespace convlab::grader
