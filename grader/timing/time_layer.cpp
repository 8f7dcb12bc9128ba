#include "grader/timing/time_layer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "common/timing/stopwatch.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/findings/diagnosis.hpp"
#include "grader/timing/impossible_time.hpp"

namespace convlab::grader {

namespace {

constexpr int kMostSamples = 10;
constexpr int kFewestSamples = 3;
constexpr double kSampleBudgetMs = 1500.0;  // per layer

// The factors that one call's images are multiplied with. Powers of two and signs are exact: they
// change every bit pattern of the input and, of a right output, exactly the same way.
std::vector<float> drawn_factors(std::mt19937& engine, int batch, bool only_signs) {
  std::vector<float> factors(static_cast<std::size_t>(batch));
  constexpr unsigned kPowers = 5;
  for (float& factor : factors) {
    const int power = only_signs ? 0 : static_cast<int>(engine() % kPowers) - 2;
    factor = std::ldexp(engine() % 2 == 0 ? 1.0f : -1.0f, power);
  }
  return factors;
}

// Copies images from a batch that is turned by `shift`: image i becomes image i + shift, times its
// factor.
void copy_turned(const float* from, float* to, std::int64_t image_size, int batch, int shift,
                 const std::vector<float>& factors) {
#pragma omp parallel for schedule(static) if (batch * image_size > 1 << 20)
  for (int image = 0; image < batch; ++image) {
    const float* source = from + (image + shift) % batch * image_size;
    float* target = to + image * image_size;
    const float factor = factors[static_cast<std::size_t>(image)];
    for (std::int64_t i = 0; i < image_size; ++i) target[i] = source[i] * factor;
  }
}

bool same_numbers_turned(const float* right, const float* output, std::int64_t image_size,
                         int batch, int shift, const std::vector<float>& factors) {
  int different = 0;
#pragma omp parallel for schedule(static) reduction(+ : different) if (batch * image_size > 1 << 20)
  for (int image = 0; image < batch; ++image) {
    const float* source = right + (image + shift) % batch * image_size;
    const float* target = output + image * image_size;
    const float factor = factors[static_cast<std::size_t>(image)];
    int differ = 0;
    for (std::int64_t i = 0; i < image_size; ++i) differ |= source[i] * factor == target[i] ? 0 : 1;
    different += differ;
  }
  return different == 0;
}

/// The timed calls of one convolution.
class LayerTiming {
 public:
  LayerTiming(Submission& submission, const StageInfo& stage, const CheckedLayer& layer,
              LayerResult& result, ReferenceTimes* reference)
      : submission_(submission),
        stage_(stage),
        layer_(layer),
        result_(result),
        reference_(reference) {}

  std::optional<Finding> run() {
    if (submission_.device().device == Device::kEmulated) return std::nullopt;
    if (layer_.call.round_trip_ms > kSampleBudgetMs) {
      keep(layer_.call);
      return std::nullopt;
    }
    const Stopwatch watch;
    for (int sample = 0; sample < kMostSamples; ++sample) {
      if (sample >= kFewestSamples && watch.milliseconds() > kSampleBudgetMs) break;
      if (auto found = take_sample("call " + std::to_string(sample + 2))) return found;
    }
    mark_slowed(result_.samples);
    if (auto found = check_clock()) return found;
    if (auto found = check_streams()) return found;
    return check_floor();
  }

 private:
  [[nodiscard]] bool on_gpu() const { return submission_.device().device == Device::kGpu; }

  std::optional<Finding> take_sample(const std::string& which) {
    static std::mt19937 engine(std::random_device{}());
    const ConvShape& shape = layer_.shape;
    const int shift = static_cast<int>(engine() % static_cast<unsigned>(shape.batch));
    const bool only_signs = layer_.tolerance.bound > oracle::error_bound(Precision::kFp32);
    const std::vector<float> factors = drawn_factors(engine, shape.batch, only_signs);
    copy_turned(layer_.input, layer_.arrays.input, shape.input_image_size(), shape.batch, shift,
                factors);
    const Computed before = computed();
    const Call call = submission_.run(stage_.id);
    const Computed after = computed();
    if (call.failure) return explain(*call.failure, layer_.where);
    if (call.wrote_outside) return finding("E-writes-outside", "In " + layer_.where + ".");
    if (!same_numbers_turned(layer_.output, layer_.arrays.output, shape.output_image_size(),
                             shape.batch, shift, factors)) {
      const WrongOutput compared{shape, layer_.arrays, layer_.tolerance,
                                 oracle::compare(shape, layer_.arrays.input, layer_.weights,
                                                 layer_.arrays.output, layer_.tolerance)};
      if (!compared.report.passed(shape)) {
        const auto late = find_late_output(submission_, compared, layer_.weights, layer_.where);
        return late ? late
                    : finding("E-replay", "In " + layer_.where + ", " + which + ": " +
                                              describe(shape, compared.report));
      }
    }
    keep(call);
    least_hidden_ = std::min(least_hidden_, hidden_ms(call, before, after));
    least_unjoined_ = std::min(least_unjoined_, call.sample.host_ms - call.sample.event_ms);
    return std::nullopt;
  }

  void keep(const Call& call) {
    result_.op_ms.push_back(call.op_ms);
    result_.layer_ms.push_back(call.layer_ms);
    if (on_gpu()) result_.samples.push_back(call.sample);
    if (reference_ != nullptr) reference_->call(layer_.index, layer_.shape, layer_.arrays);
  }

  /// Processor time, in milliseconds, of the thread that answers and of all others.
  struct Computed {
    double leading = 0.0;
    double others = 0.0;
  };

  [[nodiscard]] Computed computed() const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    const double leading = Milliseconds(submission_.leading_thread_time()).count();
    return {leading, Milliseconds(submission_.computing_time()).count() - leading};
  }

  // A submission tells its own time. What it leaves out is in the grader's, together with the
  // message there and back. On a busy machine the message waits for a processor, but does not use
  // it; on a GPU the work that is left out uses none either. OpenMP's other threads look out for
  // more work before they sleep: so much of each is not held against the submission. (Where the
  // system does not tell what a process has computed, it tells -1 both times, and nothing is.)
  [[nodiscard]] double hidden_ms(const Call& call, const Computed& before,
                                 const Computed& after) const {
    const double waited = call.round_trip_ms - call.layer_ms;
    if (on_gpu()) return waited;
    constexpr double kLookOutMs = 20.0;  // GCC's: 300 000 pauses, of 140 cycles on some processors
    const double other_threads = std::max(1U, std::thread::hardware_concurrency()) - 1.0;
    const double by_others = after.others - before.others -
                             other_threads * (call.layer_ms + std::min(kLookOutMs, waited));
    return std::min(waited, std::max(after.leading - before.leading - call.layer_ms, by_others));
  }

  [[nodiscard]] double shortest_op_ms() const {
    return *std::min_element(result_.op_ms.begin(), result_.op_ms.end());
  }

  [[nodiscard]] std::optional<Finding> check_clock() const {
    constexpr double kMessageMs = 20.0;  // far more than a message takes
    const double longest = *std::max_element(result_.layer_ms.begin(), result_.layer_ms.end());
    if (shortest_op_ms() > 0.0 && least_hidden_ < kMessageMs + longest) return std::nullopt;
    return finding("E-clock", "In " + layer_.where + ": it says " + three_digits(longest) +
                                  " ms, and the grader waited at least " +
                                  three_digits(least_hidden_) + " ms more.");
  }

  // The second event lies on the default stream behind everything that convolve did there. What the
  // device still does afterwards runs in a stream that the default one does not wait for.
  [[nodiscard]] std::optional<Finding> check_streams() const {
    constexpr double kTailMs = 0.2;  // to notice the end of the device's work
    constexpr double kShare = 0.25;
    if (!on_gpu() || least_unjoined_ < kTailMs + kShare * shortest_op_ms()) return std::nullopt;
    return finding("E-side-stream", "In " + layer_.where + ": the device works on for " +
                                        three_digits(least_unjoined_) +
                                        " ms after the default stream is done.");
  }

  [[nodiscard]] std::optional<Finding> check_floor() const {
    const double floor_ms = impossible_ms(submission_.device(), layer_.shape, stage_.precision);
    if (shortest_op_ms() >= floor_ms) return std::nullopt;
    return finding("E-impossible-time", "In " + layer_.where + ": " +
                                            three_digits(shortest_op_ms()) +
                                            " ms; this machine cannot do it in less than " +
                                            three_digits(floor_ms) + " ms.");
  }

  Submission& submission_;
  const StageInfo& stage_;
  const CheckedLayer& layer_;
  LayerResult& result_;
  ReferenceTimes* reference_;
  double least_hidden_ =
      HUGE_VAL;  ///< ms that the submission does not tell, the least of all samples
  double least_unjoined_ = HUGE_VAL;  ///< ms that only the host's clock sees
};

}  // namespace

std::optional<Finding> time_layer(Submission& submission, const StageInfo& stage,
                                  const CheckedLayer& layer, LayerResult& result,
                                  ReferenceTimes* reference) {
  return LayerTiming(submission, stage, layer, result, reference).run();
}

}  // namespace convlab::grader
