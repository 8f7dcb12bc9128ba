#include "grader/measure/measure_speed.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/run_process.hpp"
#include "common/base/stopwatch.hpp"
#include "common/data/random.hpp"
#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "grader/checks/network_check.hpp"

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

// A time in milliseconds that no honest convolution of this shape can beat on this machine. On a
// GPU it follows from the limits that its properties promise, see physical_bound; on a CPU from
// more operations per second than any processor does. 0 if nothing is known.
double impossible_ms(const SubmissionDevice& device, const ConvShape& shape, Precision precision) {
  if (device.device == Device::kEmulated) return 0.0;
  if (device.device == Device::kGpu) {
    return physical_bound(shape, limits_of(device.measured.info), precision).impossible_ms;
  }
  // Two units of 16 numbers, each a multiply and an add, at 6 GHz: no processor has more. A
  // transform may save operations, but less than four of five.
  constexpr double kPerCoreAndMs = 2.0 * 16.0 * 2.0 * 6e6;
  constexpr double kSavedByTransforms = 5.0;
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  return 2.0 * static_cast<double>(shape.multiply_adds()) /
         (kPerCoreAndMs * cores * kSavedByTransforms);
}

constexpr int kMostSamples = 10;
constexpr int kFewestSamples = 3;
constexpr double kSampleBudgetMs = 1500.0;  // of operations, per layer
constexpr double kMostMs = 30'000.0;

/// The timed calls of one convolution.
struct LayerTiming {
  Submission& submission;
  const StageInfo& stage;
  const CheckedLayer& layer;
  LayerResult& result;
  const InTurns& in_turns;

  std::optional<Finding> run() {
    if (submission.device().device == Device::kEmulated) return std::nullopt;
    const ConvShape& shape = layer.shape;
    arrays = submission.prepare(shape, Placement::kAligned);
    std::copy(layer.weights.begin(), layer.weights.end(), arrays.weights);
    FreshNumbers::draw().fill(arrays.input, shape.input_size());
    // Nobody can know the numbers of a sample. Whether there is only one follows from the operation
    // alone: a slow prolog must not choose it.
    if (layer.op_ms < kSampleBudgetMs) {
      if (auto found = take_sample("call 2", false)) return found;
    }
    const Stopwatch watch;
    double op_ms = 0.0;
    for (int sample = 0; sample < kMostSamples; ++sample) {
      if (op_ms > kSampleBudgetMs * (sample < kFewestSamples ? kFewestSamples : 1)) break;
      if (sample >= kFewestSamples && watch.milliseconds() > kMostMs) break;
      if (auto found = take_sample("call " + std::to_string(sample + 3), true)) return found;
      op_ms += result.op_ms.back();
    }
    mark_slowed(result.samples);
    if (auto found = check_clock()) return found;
    if (auto found = check_streams()) return found;
    return check_bound();
  }

  [[nodiscard]] bool on_gpu() const { return submission.device().device == Device::kGpu; }

  std::optional<Finding> take_sample(const std::string& which, bool counts) {
    static std::mt19937_64 engine(std::random_device{}());
    const ConvShape& shape = layer.shape;
    const FreshNumbers numbers = FreshNumbers::draw();
    // prolog sees those of the call before.
    const auto exchange = [&] { numbers.fill(arrays.input, shape.input_size()); };
    if (!layer.exchanges) exchange();
    // A gigabyte of poison takes longer than most operations; fresh numbers find what is stale.
    const Call call = layer.exchanges ? submission.run_timed(stage.id, exchange, std::nullopt)
                                      : submission.run(stage.id, std::nullopt);
    if (call.failure) return explain(*call.failure, layer.where);
    if (call.wrote_outside) return finding("E-writes-outside", "In " + layer.where + ".");
    constexpr int kElements = 4096;
    if (!spot_check(shape, numbers, layer.weights.data(), arrays.output, layer.tolerance, kElements,
                    engine)) {
      const WrongOutput compared{shape, arrays, layer.tolerance,
                                 oracle::compare(shape, arrays.input, layer.weights.data(),
                                                 arrays.output, layer.tolerance)};
      const auto late = find_late_output(submission, compared, layer.weights.data(), layer.where);
      return late ? late
                  : finding("E-replay", "In " + layer.where + ", " + which + ": " +
                                            describe(shape, compared.report));
    }
    return counts ? keep(call) : std::nullopt;
  }

  // The submission reports its own times; each call is compared with the grader's time. On the CPU
  // the grader's time counts in any case.
  std::optional<Finding> keep(const Call& call) {
    const double claimed_ms = layer.exchanges ? call.op_ms : call.layer_ms;
    const double own_ms = call.own_ms;
    constexpr double kMessageMs = 20.0;  // far more than a message takes, on a busy machine, too
    // On a busy machine a call takes long; the processor time of its threads does not.
    const bool differs =
        own_ms > kMessageMs + 2.0 * claimed_ms &&
        (on_gpu() || call.processor_ms > kMessageMs + 2.0 * claimed_ms * std::max(1, call.threads));
    if (differs) contradicted.push_back({claimed_ms, own_ms});
    // Prolog's time counts if the grader cannot replace its input.
    const bool prolog_counts = !layer.exchanges && layer.copies == 0;
    const double scored_ms = !on_gpu() || differs ? own_ms
                             : prolog_counts      ? call.layer_ms
                                                  : call.op_ms;
    const bool op_counts = on_gpu() && !submission.settings().prolog_may_compute;
    least_claimed_ms = std::min(least_claimed_ms, op_counts ? call.op_ms : scored_ms);
    result.op_ms.push_back(scored_ms);
    result.layer_ms.push_back(on_gpu() ? call.layer_ms : scored_ms);
    if (on_gpu()) {
      result.samples.push_back(call.sample);
    }
    if (in_turns) {
      in_turns(layer, arrays);
      if (!submission.stands_still()) {
        return explain({.kind = Failure::Kind::kWorksOn}, layer.where);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] double shortest_op_ms() const { return *std::ranges::min_element(result.op_ms); }

  // More than half of the calls, so that a short load on the machine accuses nobody.
  [[nodiscard]] std::optional<Finding> check_clock() const {
    if (shortest_op_ms() > 0.0 && 2 * contradicted.size() <= result.op_ms.size()) {
      return std::nullopt;
    }
    const Contradiction first = contradicted.empty() ? Contradiction{} : contradicted.front();
    return finding("E-clock", "In " + layer.where + ": it says " + three_digits(first.claimed_ms) +
                                  " ms, and on the grader's clock the same call took " +
                                  three_digits(first.own_ms) + " ms.");
  }

  // The second event lies on the default stream after all work of convolve there. Work that the
  // device still does afterwards runs in a stream that the default one does not wait for. The gap
  // between the two clocks would not show this: other programs on the GPU widen it.
  [[nodiscard]] std::optional<Finding> check_streams() const {
    constexpr double kTailMs = 0.2;  // to notice the end of the device's work
    constexpr double kShare = 0.25;
    std::vector<double> late_ms;
    for (const OpSample& sample : result.samples) {
      if (sample.tail_ms >= kTailMs + kShare * sample.score_ms()) late_ms.push_back(sample.tail_ms);
    }
    if (2 * late_ms.size() <= result.samples.size()) return std::nullopt;
    return finding("E-side-stream", "In " + layer.where + ": the device works on for " +
                                        three_digits(*std::ranges::min_element(late_ms)) +
                                        " ms and more after the default stream is done.");
  }

  [[nodiscard]] std::optional<Finding> check_bound() const {
    const double bound_ms = impossible_ms(submission.device(), layer.shape, stage.precision);
    if (least_claimed_ms >= bound_ms) return std::nullopt;
    return finding("E-impossible-time", "In " + layer.where + ": " +
                                            three_digits(least_claimed_ms) +
                                            " ms; this machine cannot do it in less than " +
                                            three_digits(bound_ms) + " ms.");
  }

  Arrays arrays{};
  struct Contradiction {
    double claimed_ms = 0.0;
    double own_ms = 0.0;
  };
  std::vector<Contradiction> contradicted{};
  double least_claimed_ms = HUGE_VAL;  ///< op time, unless prolog may do the work
};

}  // namespace

void time_network(Submission& submission, NetworkOutcome& run, const Announce& announce,
                  const InTurns& in_turns) {
  if (run.finding) return;
  std::shuffle(run.layers.begin(), run.layers.end(), std::mt19937_64(std::random_device{}()));
  for (const CheckedLayer& layer : run.layers) {
    announce("batch " + std::to_string(run.result.batch) + ", times of convolution " +
             std::to_string(layer.index + 1));
    LayerResult& result = run.result.layers[static_cast<std::size_t>(layer.index)];
    run.finding = LayerTiming{submission, run.result.stage, layer, result, in_turns}.run();
    if (!run.finding) continue;
    run.result.verdict = Verdict::kFailed;
    return;
  }
}

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
  constexpr int kBusy = 10;  // percent of the last second, which another program used
  int busy = 0;
  int degrees = 0;
  if (std::sscanf(run.output.c_str(), "%d, %d", &busy, &degrees) != 2) return {};
  const bool is_hot = run.output.find(", Active") != std::string::npos;
  if (busy < kBusy && !is_hot) return {};
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
