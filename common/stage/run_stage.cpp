#include "common/stage/run_stage.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "common/error/error.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/stopwatch.hpp"

namespace convlab {

namespace {

// On a device every phase must be complete before the next one begins.
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

// Counts the kernels of one phase.
int launches(DeviceSession* device, const char* name, const std::function<void()>& phase) {
  bool counts = device != nullptr;
  try {
    if (counts) device->start_profile();
  } catch (const EnvironmentError&) {
    counts = false;  // no profiler on this machine
  }
  phase();
  if (device != nullptr) device->fence(name);
  if (!counts) return -1;
  int count = 0;
  for (const ProfileEntry& kernel : device->stop_profile().kernels) count += kernel.calls;
  return count;
}

using Places = std::vector<std::byte*>;

// Where in this memory the same words stand, one after the other.
Places places_of(const std::vector<MemoryContent>& memory, const float* numbers,
                 std::int64_t count) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(numbers);
  Places places;
  for (const MemoryContent& content : memory) {
    const auto end = content.words.end();
    for (auto at = content.words.begin();; at += count) {
      at = std::search(at, end, words, words + count);
      if (at == end) break;
      places.push_back(content.begin + (at - content.words.begin()) * sizeof(float));
    }
  }
  return places;
}

}  // namespace

PhaseKernels run_phases(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<void()>& pause) {
  const std::unique_ptr<Convolution> convolution = stage.make();
  PhaseKernels kernels;
  kernels.prolog =
      launches(device, "prolog", [&] { convolution->prolog(shape, input, weights, output); });
  const auto memory = device == nullptr ? std::vector<MemoryContent>{} : device->memory();
  const Places copies = places_of(memory, input, shape.input_size());
  kernels.copies = static_cast<int>(copies.size());
  const auto pause_and_copy = [&] {
    pause();
    for (std::byte* copy : copies) device->overwrite(copy, input, shape.input_size());
  };
  pause_and_copy();
  kernels.convolve = launches(device, "convolve", [&] {
    convolution->convolve();
    kernels.unjoined = device != nullptr && device->has_unjoined_work();
  });
  pause_and_copy();
  kernels.epilog = launches(device, "epilog", [&] { convolution->epilog(); });
  kernels.finished = !places_of(memory, output, shape.output_size()).empty();
  return kernels;
}

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
