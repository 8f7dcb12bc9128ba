#include "grader/measure/measure_speed.hpp"

#include "common/device/device_limits.hpp"
#include "common/device/physical_floor.hpp"
#include "grader/checks/network_check.hpp"
#include "grader/measure/quiet_gpu.hpp"
#include "grader/measure/speed.hpp"
#include "grader/measure/time_layer.hpp"

namespace convlab::grader {

namespace {

// The floor of all convolutions together, if the device's limits are known.
std::optional<double> floor_of(const RunResult& run, const MeasuredDevice& device) {
  const DeviceLimits limits = with_measured(limits_of(device.info), device.limits);
  double sum = 0.0;
  for (const LayerResult& layer : run.layers) {
    const double floor = physical_floor(layer.shape, limits, run.stage.precision).ms();
    if (floor <= 0.0) return std::nullopt;
    sum += floor;
  }
  return sum;
}

void append(std::vector<std::vector<double>>& all, std::size_t layer,
            const std::vector<double>& samples) {
  if (layer >= all.size()) all.resize(layer + 1);
  all[layer].insert(all[layer].end(), samples.begin(), samples.end());
}

}  // namespace

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
    measure.floor_ms = floor_of(run.result, times.device());
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
