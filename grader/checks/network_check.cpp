#include "grader/checks/network_check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "common/timing/stopwatch.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/impossible_time.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/findings/diagnosis.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

constexpr int kMostSamples = 10;
constexpr int kFewestSamples = 3;
constexpr double kSampleBudgetMs = 1500.0;  // per layer

/// Leaves Network::forward when there is nothing to go on with.
struct Stop {
  Finding finding;
};

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

/// One convolution of the network: called, compared, timed.
class LayerRun {
 public:
  LayerRun(Submission& submission, const StageInfo& stage, std::string where,
           const ConvShape& shape, const float* input, const float* weights,
           std::function<void(const ConvShape&, const Arrays&)> beside)
      : submission_(submission),
        stage_(stage),
        where_(std::move(where)),
        tolerance_(oracle::Tolerance::of(precision_of(stage))),
        input_(input),
        weights_(weights),
        beside_(std::move(beside)) {
    result_.shape = shape;
    arrays_ = submission_.prepare(shape, Placement::kAligned);
    std::memcpy(arrays_.weights, weights_,
                static_cast<std::size_t>(shape.weights_size()) * sizeof(float));
  }

  /// The first call; its output, once found right, goes to `output`.
  void check(float* output) {
    first_ = called(0, std::vector<float>(static_cast<std::size_t>(shape().batch), 1.0f));
    if (submission_.device().device == Device::kGpu) result_.first_op_ms = first_.op_ms;
    const oracle::ErrorReport report = compared();
    result_.error = ErrorMeasure{.compared = report.compared,
                                 .wrong = report.wrong,
                                 .worst_ratio = report.worst_ratio,
                                 .bound = report.bound};
    if (!report.passed(shape())) {
      stop_if_late(report);
      throw Stop{diagnose({shape(), arrays_, tolerance_, report}, where_)};
    }
    std::memcpy(output, arrays_.output,
                static_cast<std::size_t>(shape().output_size()) * sizeof(float));
  }

  /// Further calls; `right` is the output of the first.
  void time(const float* right) {
    if (submission_.device().device == Device::kEmulated) return;  // it has no times
    if (first_.round_trip_ms > kSampleBudgetMs) {
      keep(first_);
      return;
    }
    static std::mt19937 engine(std::random_device{}());
    const Stopwatch watch;
    double least_hidden = HUGE_VAL;
    double least_unjoined = HUGE_VAL;
    for (int sample = 0; sample < kMostSamples; ++sample) {
      if (sample >= kFewestSamples && watch.milliseconds() > kSampleBudgetMs) break;
      const int shift = static_cast<int>(engine() % static_cast<unsigned>(shape().batch));
      const bool only_signs = tolerance_.bound > oracle::error_bound(Precision::kFp32);
      const std::vector<float> factors = drawn_factors(engine, shape().batch, only_signs);
      const Computed before = computed();
      const Call call = called(shift, factors);
      const Computed after = computed();
      if (!same_numbers_turned(right, arrays_.output, shape().output_image_size(), shape().batch,
                               shift, factors)) {
        const oracle::ErrorReport report = compared();
        if (!report.passed(shape())) {
          stop_if_late(report);
          throw Stop{finding("E-replay", "In " + where_ + ", call " + std::to_string(sample + 2) +
                                             ": " + describe(shape(), report))};
        }
      }
      keep(call);
      least_hidden = std::min(least_hidden, hidden_ms(call, before, after));
      least_unjoined = std::min(least_unjoined, call.sample.host_ms - call.sample.event_ms);
    }
    mark_slowed(result_.samples);
    check_clock(least_hidden);
    if (submission_.device().device == Device::kGpu) check_streams(least_unjoined);
    check_floor();
  }

  [[nodiscard]] LayerResult& result() { return result_; }

 private:
  [[nodiscard]] const ConvShape& shape() const { return result_.shape; }

  Call called(int shift, const std::vector<float>& factors) {
    copy_turned(input_, arrays_.input, shape().input_image_size(), shape().batch, shift, factors);
    Call call = submission_.run(stage_.id);
    if (call.failure) throw Stop{explain(*call.failure, where_)};
    if (call.wrote_outside) throw Stop{finding("E-writes-outside", "In " + where_ + ".")};
    return call;
  }

  [[nodiscard]] oracle::ErrorReport compared() const {
    // Against the grader's own arrays: what the submission saw is not trusted.
    return oracle::compare(shape(), arrays_.input, weights_, arrays_.output, tolerance_);
  }

  void stop_if_late(const oracle::ErrorReport& report) {
    if (report.unwritten == 0 ||
        !arrives_late(submission_, shape(), arrays_.input, weights_, arrays_.output, tolerance_)) {
      return;
    }
    throw Stop{finding("E-still-working", "In " + where_ +
                                              ": the output was complete only some "
                                              "time after the call had returned.")};
  }

  void keep(const Call& call) {
    result_.op_ms.push_back(call.op_ms);
    result_.layer_ms.push_back(call.layer_ms);
    if (submission_.device().device == Device::kGpu) result_.samples.push_back(call.sample);
    beside_(shape(), arrays_);
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
    if (submission_.device().device == Device::kGpu) return waited;
    constexpr double kLookOutMs = 20.0;  // GCC's: 300 000 pauses, of 140 cycles on some processors
    const double other_threads = std::max(1U, std::thread::hardware_concurrency()) - 1.0;
    const double by_others = after.others - before.others -
                             other_threads * (call.layer_ms + std::min(kLookOutMs, waited));
    return std::min(waited, std::max(after.leading - before.leading - call.layer_ms, by_others));
  }

  void check_clock(double least_hidden) const {
    constexpr double kMessageMs = 20.0;  // far more than a message takes
    const double longest = *std::max_element(result_.layer_ms.begin(), result_.layer_ms.end());
    const double shortest_op = *std::min_element(result_.op_ms.begin(), result_.op_ms.end());
    if (shortest_op > 0.0 && least_hidden < kMessageMs + longest) return;
    throw Stop{finding("E-clock", "In " + where_ + ": it says " + three_digits(longest) +
                                      " ms, and the grader waited at least " +
                                      three_digits(least_hidden) + " ms more.")};
  }

  // The second event lies on the default stream behind everything that convolve did there. What the
  // device still does afterwards runs in a stream that the default one does not wait for.
  void check_streams(double least_unjoined) const {
    constexpr double kTailMs = 0.2;  // to notice the end of the device's work
    constexpr double kShare = 0.25;
    const double shortest_op = *std::min_element(result_.op_ms.begin(), result_.op_ms.end());
    if (least_unjoined < kTailMs + kShare * shortest_op) return;
    throw Stop{finding("E-side-stream", "In " + where_ + ": the device works on for " +
                                            three_digits(least_unjoined) +
                                            " ms after the default stream is done.")};
  }

  void check_floor() const {
    const double floor_ms = impossible_ms(submission_.device(), shape(), precision_of(stage_));
    const double shortest = *std::min_element(result_.op_ms.begin(), result_.op_ms.end());
    if (shortest >= floor_ms) return;
    throw Stop{finding("E-impossible-time", "In " + where_ + ": " + three_digits(shortest) +
                                                " ms; this machine cannot do it in less than " +
                                                three_digits(floor_ms) + " ms.")};
  }

  Submission& submission_;
  const StageInfo& stage_;
  std::string where_;
  oracle::Tolerance tolerance_;
  const float* input_;
  const float* weights_;
  std::function<void(const ConvShape&, const Arrays&)> beside_;
  Arrays arrays_;
  Call first_;
  LayerResult result_;
};

// Images whose class is certain must get that class.
std::optional<Finding> judge_accuracy(const NetworkTask& task, const StageInfo& stage,
                                      const std::vector<int>& predictions,
                                      AccuracyResult& accuracy) {
  accuracy.total = task.batch;
  if (task.first == 0) {
    const oracle::ExpectedCount expected = oracle::count(task.expected, task.labels, task.batch);
    accuracy.expected = expected.correct;
    accuracy.undecided = expected.undecided;
  }
  int other = 0;
  int first_other = -1;
  for (int image = task.first; image < task.first + task.batch; ++image) {
    const auto i = static_cast<std::size_t>(image);
    const int prediction = predictions[i - static_cast<std::size_t>(task.first)];
    if (prediction == task.labels[i]) ++accuracy.correct;
    const bool undecided =
        std::binary_search(task.expected.undecided.begin(), task.expected.undecided.end(), image);
    if (undecided || prediction == task.expected.predictions[i]) continue;
    ++other;
    if (first_other < 0) first_other = image;
  }
  // The undecided images are those of single precision; lower precision may change a few more.
  constexpr int kPerMille = 5;
  const int allowed =
      precision_of(stage) == Precision::kFp32 ? 0 : 1 + task.batch * kPerMille / 1000;
  if (other <= allowed) return std::nullopt;
  return finding("E-accuracy", std::to_string(other) + " of " + std::to_string(task.batch) +
                                   " images get another class than they must; the first is image " +
                                   std::to_string(first_other) + ".");
}

}  // namespace

NetworkOutcome run_network(Submission& submission, const StageInfo& stage, const NetworkTask& task,
                           const Announce& announce) {
  NetworkOutcome outcome;
  RunResult& result = outcome.result;
  result.network = task.network.preset().name;
  result.batch = task.batch;
  result.stage = stage;
  result.verdict = Verdict::kFailed;
  submission.restart();  // so that the memory it uses is that of this batch

  const auto image = task.network.preset().feature_shapes().front().size();
  const auto first = task.images.begin() + image * task.first;
  const std::vector<float> images(first, first + image * task.batch);
  const auto convolve = [&](int index, const ConvShape& shape, const float* input,
                            const float* weights, float* output) {
    const std::string name = "convolution " + std::to_string(index + 1);
    announce("batch " + std::to_string(task.batch) + ", " + name);
    LayerRun layer(submission, stage,
                   name + " of network " + result.network + " (" + to_string(shape) + ")", shape,
                   input, weights, [&](const ConvShape& timed, const Arrays& given) {
                     if (task.beside) task.beside(index, timed, given);
                   });
    try {
      layer.check(output);
      if (task.timed) layer.time(output);
    } catch (const Stop&) {
      result.layers.push_back(layer.result());
      throw;
    }
    result.layers.push_back(layer.result());
    result.device = submission.device().device;
  };
  try {
    const std::vector<float> logits = task.network.forward(images, task.batch, convolve);
    AccuracyResult accuracy;
    outcome.finding =
        judge_accuracy(task, stage, argmax(logits, task.network.preset().classes), accuracy);
    result.accuracy = accuracy;
    if (!outcome.finding) result.verdict = Verdict::kPassed;
  } catch (const Stop& stop) {
    outcome.finding = stop.finding;
  }
  result.total = submission.usage();
  return outcome;
}

}  // namespace convlab::grader
