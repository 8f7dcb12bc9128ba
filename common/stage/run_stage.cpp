#include "common/stage/run_stage.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "common/device/input_copies.hpp"
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

/// What a phase had the device do; -1 kernels if nothing counts them.
struct Work {
  int kernels = -1;
  std::int64_t read_back = 0;
};

Work work_of(DeviceSession* device, const char* name, const std::function<void()>& phase) {
  bool counts = device != nullptr;
  try {
    if (counts) device->start_profile();
  } catch (const EnvironmentError&) {
    counts = false;  // no profiler on this machine
  }
  phase();
  if (device != nullptr) device->fence(name);
  Work work;
  if (!counts) return work;
  const Profile profile = device->stop_profile();
  work.kernels = 0;
  for (const ProfileEntry& kernel : profile.kernels) work.kernels += kernel.calls;
  for (const auto& copy : profile.copies) {
    if (copy.direction == "device to host") work.read_back += copy.bytes;
  }
  return work;
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

// On an emulated device nothing is measured.
OpSample time_op(DeviceSession* device, const std::function<void()>& op) {
  if (device == nullptr || device->info().device == Device::kGpu) {
    if (device != nullptr) return device->time(op);
    const Stopwatch watch;
    op();
    return {.host_ms = watch.milliseconds()};
  }
  op();
  device->fence("convolve");
  return {};
}

}  // namespace

PhaseTimes run_in_steps(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<Step(int copies)>& next) {
  if (device != nullptr) {
    require_capability(device->info(), stage.needs, ("Stage '" + stage.id + "'").c_str());
  }
  const std::unique_ptr<Convolution> convolution = stage.make();
  PhaseTimes times;
  const double prolog_ms =
      time_phase(device, "prolog", [&] { convolution->prolog(shape, input, weights, output); });
  const InputCopies copies = device == nullptr ? InputCopies{} : find_copies(*device, input, shape);
  const int count = copies.known ? static_cast<int>(copies.complete ? copies.parts.size() : 0) : -1;
  for (Step step = next(count); step != Step::kConvolve; step = next(count)) {
    if (step == Step::kEmptyCall) {
      time_op(device, [] {});
    } else if (count > 0) {
      overwrite(*device, copies, input, shape);
    }
  }
  double epilog_ms = 0.0;
  if (device == nullptr) {
    times.samples = {time_op(nullptr, [&] {
      convolution->convolve();
      convolution->epilog();
    })};
  } else {
    times.samples = {time_op(device, [&] { convolution->convolve(); })};
    next(count);
    epilog_ms = time_phase(device, "epilog", [&] { convolution->epilog(); });
  }
  times.op_ms = times.samples.front().score_ms();
  times.layer_ms = times.op_ms == 0.0 ? 0.0 : prolog_ms + times.op_ms + epilog_ms;
  return times;
}

PhaseKernels run_phases(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<void()>& pause) {
  const std::unique_ptr<Convolution> convolution = stage.make();
  PhaseKernels kernels;
  kernels.prolog = work_of(device, "prolog", [&] {
                     convolution->prolog(shape, input, weights, output);
                   }).kernels;
  const auto memory = device == nullptr ? std::vector<MemoryContent>{} : device->memory();
  const Places copies = places_of(memory, input, shape.input_size());
  kernels.copies = static_cast<int>(copies.size());
  const auto pause_and_copy = [&] {
    pause();
    for (std::byte* copy : copies) device->overwrite(copy, input, shape.input_size());
  };
  pause_and_copy();
  if (!copies.empty()) pause();
  const Work work = work_of(device, "convolve", [&] {
    convolution->convolve();
    kernels.unjoined = device != nullptr && device->has_unjoined_work();
  });
  kernels.convolve = work.kernels;
  kernels.read_back = work.read_back;
  kernels.copied_in =
      !copies.empty() && !places_of(device->memory(), input, shape.input_size()).empty();
  pause_and_copy();
  kernels.epilog = work_of(device, "epilog", [&] { convolution->epilog(); }).kernels;
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
