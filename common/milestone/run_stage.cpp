#include "common/milestone/run_stage.hpp"

#include <functional>
#include <memory>

#include "common/timing/statistics.hpp"
#include "common/timing/stopwatch.hpp"

namespace convlab {

namespace {

// On a device nothing of a phase may be left over for the next one.
double time_phase(DeviceSession* device, const char* name, const std::function<void()>& phase) {
  const Stopwatch watch;
  phase();
  if (device != nullptr) device->fence(name);
  return watch.milliseconds();
}

OpSample time_convolve(DeviceSession* device, Convolution& convolution) {
  if (device != nullptr) return device->time([&] { convolution.convolve(); });
  OpSample sample;
  const Stopwatch watch;
  convolution.convolve();
  sample.host_ms = watch.milliseconds();
  return sample;
}

}  // namespace

PhaseTimes run_stage(const Stage& stage, const ConvShape& shape, const float* input,
                     const float* weights, float* output, const RunPlan& plan) {
  DeviceSession* device = plan.device;
  if (device != nullptr) {
    require_capability(device->info(), stage.needs, ("Stage '" + stage.id + "'").c_str());
  }
  const std::unique_ptr<Convolution> convolution = stage.make();
  const double prolog_ms =
      time_phase(device, "prolog", [&] { convolution->prolog(shape, input, weights, output); });
  if (device != nullptr && device->info().device == Device::kEmulated) {
    time_phase(device, "convolve", [&] { convolution->convolve(); });
    time_phase(device, "epilog", [&] { convolution->epilog(); });
    return {};
  }

  PhaseTimes times;
  for (int i = 0; i < plan.warm_ups; ++i) {
    const double warm_up_ms = time_convolve(device, *convolution).score_ms();
    if (i == 0) times.first_op_ms = warm_up_ms;
  }
  std::vector<double> scores;
  for (int i = 0; i < plan.samples; ++i) {
    times.samples.push_back(time_convolve(device, *convolution));
    scores.push_back(times.samples.back().score_ms());
  }
  mark_slowed(times.samples);
  times.op_ms = spread_of(scores).median;
  const double epilog_ms = time_phase(device, "epilog", [&] { convolution->epilog(); });
  times.layer_ms = prolog_ms + times.op_ms + epilog_ms;
  return times;
}

}  // namespace convlab
