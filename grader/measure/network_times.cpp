#include "grader/measure/network_times.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/stopwatch.hpp"
#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"

namespace convlab::grader {

namespace {

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

}  // namespace convlab::grader
