#include "grader/checks/network_check.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>

#include "common/base/text.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "grader/checks/probe/probe.hpp"

namespace convlab::grader {

namespace {

/// Announces a long convolution once a second, with a bar by the share of the output that is
/// written, which the grader sees in the memory that it shares with a CPU's program; else by what
/// an image took before. The calling thread waits meanwhile.
class Waiting {
 public:
  Waiting(const Announce& announce, const std::string& name, int batch)
      : announce_(announce),
        what_("batch " + std::to_string(batch) + ", " + name),
        name_(name),
        batch_(batch) {
    announce_(what_);
    const std::lock_guard lock(mutex_);
    if (const auto known = image_s_.find(name); known != image_s_.end()) {
      expected_s_ = known->second * batch;
    }
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  /// From now on the output, which is poison where it is not written, tells how far the work is.
  void watch(const float* output, std::int64_t count) {
    const std::lock_guard lock(mutex_);
    output_ = output;
    count_ = count;
    begin_ = std::chrono::steady_clock::now();
  }

  ~Waiting() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(mutex_);
    image_s_[name_] = seconds() / batch_;
  }

 private:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  void tick(const std::stop_token& stop) const {
    std::mutex alone;
    std::condition_variable_any stopped;
    std::unique_lock lock(alone);
    while (!stopped.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; })) {
      if (stop.stop_requested()) return;
      const double share = written();
      announce_(what_ + progress_bar(seconds(), share > 0.0 ? seconds() / share : expected_s_));
    }
  }

  // 0 if that is unknown, or says nothing.
  [[nodiscard]] double written() const {
    constexpr std::int64_t kLooks = 997;  // a prime: no row, map or image is looked at alone
    constexpr std::int64_t kTooFew = 5;
    const std::lock_guard lock(mutex_);
    std::int64_t written = 0;
    for (std::int64_t i = 0; i < kLooks && output_ != nullptr; ++i) {
      const volatile float& number = output_[count_ * i / kLooks];  // another process writes it
      if (std::bit_cast<std::uint32_t>(float{number}) != oracle::kPoisonBits) ++written;
    }
    if (written < kTooFew || written == kLooks) return 0.0;
    return static_cast<double>(written) / static_cast<double>(kLooks);
  }

  static inline std::mutex mutex_;
  static inline std::map<std::string, double> image_s_{};  // of each convolution, the last one
  const Announce& announce_;
  std::string what_;
  std::string name_;
  int batch_;
  const float* output_ = nullptr;  // while it is watched
  std::int64_t count_ = 0;
  double expected_s_ = 0.0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::jthread thread_{[this](const std::stop_token& stop) { tick(stop); }};  // the last to begin
};

/// Leaves Network::forward when the run cannot go on.
struct Stop {
  Finding finding;
};

// A gigabyte of output for 10 000 images: one thread would take longer than the convolution.
void copy(float* to, const float* from, std::int64_t count) {
  constexpr std::int64_t kPart = 1 << 20;
#pragma omp parallel for schedule(static) if (count > kPart)
  for (std::int64_t begin = 0; begin < count; begin += kPart) {
    const std::int64_t size = std::min(kPart, count - begin);
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(size) * sizeof(float));
  }
}

// Calls the convolution once; its output, once found right, goes to `output`.
std::optional<Finding> check_layer(Submission& submission, const StageInfo& stage,
                                   CheckedLayer& layer, const float* input, float* output,
                                   LayerResult& result, Waiting& waiting) {
  const ConvShape& shape = layer.shape;
  const float* const weights = layer.weights.data();
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  const FreshNumbers of_prolog = FreshNumbers::draw();
  of_prolog.fill(arrays.input, shape.input_size());
  copy(arrays.weights, weights, shape.weights_size());
  const auto fill_in = [&] { copy(arrays.input, input, shape.input_size()); };
  std::mt19937_64 engine(std::random_device{}());
  const auto belongs_to_prolog = [&] {
    return spot_check(shape, of_prolog, weights, arrays.output, layer.tolerance, 1000, engine);
  };
  layer.exchanges = submission.settings().exchanges;
  if (!layer.exchanges) fill_in();
  waiting.watch(arrays.output, shape.output_size());
  Call call = layer.exchanges ? submission.run_timed(stage.id, fill_in) : submission.run(stage.id);
  layer.copies = call.copies;  // only run_timed counts them
  waiting.watch(nullptr, 0);   // the next arrays lie elsewhere
  if (layer.exchanges && !call.failure && belongs_to_prolog()) {
    if (call.copies > 0 || submission.device().device == Device::kCpu) {
      return finding("E-timed-phase-empty/prolog", "In " + layer.where + ": ");
    }
    layer.exchanges = false;
    fill_in();
    call = submission.run(stage.id);
  }
  if (call.failure) return explain(*call.failure, layer.where);
  if (call.wrote_outside) return finding("E-writes-outside", "In " + layer.where + ".");
  // Compares with the grader's own arrays: the submission's are not trusted.
  const Compare compare = [&] {
    return oracle::compare(shape, input, weights, arrays.output, layer.tolerance);
  };
  WrongOutput compared{shape, arrays, layer.tolerance, compare()};
  if (auto found =
          find_who_computes(submission, stage.id, layer.where, weights, compared, compare)) {
    return found;
  }
  bool is_transform = false;
  if (!compared.report.passed(shape) && compared.report.not_finite == 0) {
    const oracle::Tolerance usual = layer.tolerance;
    layer.tolerance = usual.of_transform(shape, input, weights);
    const WrongOutput wide{shape, arrays, layer.tolerance, compare()};
    copy(output, arrays.output, shape.output_size());  // the probe has other numbers
    is_transform = wide.report.passed(shape) && probe::is_transform({submission, stage, shape});
    if (is_transform) {
      compared = wide;
    } else {
      layer.tolerance = usual;
    }
  }
  const oracle::ErrorReport& report = compared.report;
  result.error = ErrorMeasure{.compared = report.compared,
                              .wrong = report.wrong,
                              .worst_ratio = report.worst_ratio,
                              .bound = report.bound};
  if (!report.passed(shape)) {
    // Where a sum is 0, any error is infinitely many times too large.
    const auto rounding =
        report.not_finite == 0 ? probe::rounding_of({submission, stage, shape}) : std::nullopt;
    return rounding ? with_rounding(lost_precision(compared, layer.where), *rounding)
                    : diagnose(compared, layer.where);
  }
  layer.op_ms = submission.device().device == Device::kCpu ? call.own_ms : call.op_ms;
  if (!is_transform) copy(output, arrays.output, shape.output_size());
  return std::nullopt;
}

// Images whose class is certain must get that class.
std::optional<Finding> judge_accuracy(const GradedNetwork& network, int batch, int first,
                                      const StageInfo& stage, const std::vector<int>& predictions,
                                      AccuracyResult& accuracy) {
  const oracle::Expected& expected = network.expected;
  accuracy.total = batch;
  if (first == 0) {
    const oracle::ExpectedCount count = oracle::count(expected, network.dataset.labels, batch);
    accuracy.expected = count.correct;
    accuracy.undecided = count.undecided;
  }
  int other = 0;
  int first_other = -1;
  for (int image = first; image < first + batch; ++image) {
    const auto i = static_cast<std::size_t>(image);
    const int prediction = predictions[i - static_cast<std::size_t>(first)];
    if (prediction == network.dataset.labels[i]) ++accuracy.correct;
    const bool undecided = std::ranges::binary_search(expected.undecided, image);
    if (undecided || prediction == expected.predictions[i]) continue;
    ++other;
    if (first_other < 0) first_other = image;
  }
  // The undecided images are those of single precision; lower precision may change a few more.
  constexpr int kPerMille = 5;
  const int allowed = stage.precision == Precision::kFp32 ? 0 : 1 + batch * kPerMille / 1000;
  if (other <= allowed) return std::nullopt;
  return finding("E-accuracy", std::to_string(other) + " of " + count_of(batch, "image") +
                                   (other == 1 ? " gets" : " get") +
                                   " another class than expected; the first is image " +
                                   std::to_string(first_other) + ".");
}

// The times of this batch; the memory is the most that the process ever took.
ProcessUsage since(const ProcessUsage& before, ProcessUsage now) {
  if (now.elapsed_s < before.elapsed_s) return now;  // a new process
  now.user_s -= before.user_s;
  now.system_s -= before.system_s;
  now.elapsed_s -= before.elapsed_s;
  return now;
}

}  // namespace

std::string progress_bar(double seconds, double expected_s) {
  if (expected_s <= seconds) return ": " + std::to_string(std::lround(seconds)) + " s";
  constexpr double kWidth = 10.0;
  const auto done = static_cast<std::size_t>(kWidth * seconds / expected_s);
  return " [" + std::string(done, '#') + std::string(std::size_t{10} - done, '.') + "] " +
         std::to_string(std::lround(expected_s - seconds)) + " s left" +
         (Interruptible::exists() ? "; Ctrl-C skips it" : "");
}

NetworkOutcome check_network(Submission& submission, const StageInfo& stage,
                             const GradedNetwork& network, int batch, const Announce& announce,
                             int first) {
  const Preset& preset = network.network->preset();
  NetworkOutcome outcome;
  RunResult& result = outcome.result;
  result.network = preset.name;
  result.batch = batch;
  result.stage = stage;
  result.verdict = Verdict::kFailed;
  const ProcessUsage before = submission.usage();

  const auto convolve = [&](int index, const ConvShape& shape, const float* input,
                            const float* weights, float* output) {
    const std::string name = "convolution " + std::to_string(index + 1);
    Waiting waiting(announce, name, batch);
    CheckedLayer& layer = outcome.layers.emplace_back(CheckedLayer{
        .index = index,
        .where = name + " of network " + result.network + " (" + to_string(shape) + ")",
        .shape = shape,
        .weights = {weights, weights + shape.weights_size()},
        .tolerance = oracle::Tolerance::of(stage.precision, shape)});
    LayerResult& checked = result.layers.emplace_back(LayerResult{.shape = shape});
    const auto found = check_layer(submission, stage, layer, input, output, checked, waiting);
    if (found) throw Stop{*found};
    result.device = submission.device().device;
  };
  const auto image_size = preset.feature_shapes().front().size();
  const auto images = std::span(network.images)
                          .subspan(static_cast<std::size_t>(image_size * first),
                                   static_cast<std::size_t>(image_size * batch));
  try {
    const std::vector<float> logits = network.network->forward(images, batch, convolve);
    AccuracyResult accuracy;
    outcome.finding =
        judge_accuracy(network, batch, first, stage, argmax(logits, preset.classes), accuracy);
    result.accuracy = accuracy;
    if (!outcome.finding) result.verdict = Verdict::kPassed;
  } catch (const Stop& stop) {
    outcome.finding = stop.finding;
  }
  result.total = since(before, submission.usage());
  return outcome;
}

std::optional<Finding> check_hidden_batches(Submission& submission, const StageInfo& stage,
                                            const GradedNetwork& network, std::optional<int> size,
                                            int largest, std::uint64_t seed,
                                            const Announce& announce) {
  if (size && *size == largest) return std::nullopt;  // these are the images of a run before
  const int batches = size ? 1 : 2;
  constexpr int kMostOnCpu = 40;
  constexpr int kMostEmulated = 8;
  const bool emulated = submission.device().device == Device::kEmulated;
  const int most = std::min(largest, emulated ? kMostEmulated : kMostOnCpu);
  std::mt19937_64 engine(seed);
  for (int i = 0; i < batches; ++i) {
    const int drawn = 1 + static_cast<int>(engine() % static_cast<unsigned>(most));
    const int batch = size.value_or(drawn);
    const int first = static_cast<int>(engine() % static_cast<unsigned>(largest - batch + 1));
    const NetworkOutcome outcome =
        check_network(submission, stage, network, batch, announce, first);
    if (!outcome.finding) continue;
    const auto& layers = outcome.result.layers;
    const bool numbers = !layers.empty() && layers.back().error && layers.back().error->wrong > 0 &&
                         !is_of_kind(*outcome.finding, "rounding");
    return numbers ? finding("E-shapes", outcome.finding->seen) : outcome.finding;
  }
  return std::nullopt;
}

void GradedNetwork::load(const Announce& announce) {
  const std::lock_guard lock(loading);
  if (network) return;
  announce("loading the test images");
  dataset = load_dataset(Split::kTest);
  Network loaded = load_network(name);
  images = resize_images(dataset, largest_batch, loaded.preset().image_size);
  announce("looking up what the network must answer");
  expected = oracle::expected_for(loaded, dataset, largest_batch);
  network.emplace(std::move(loaded));
}

}  // namespace convlab::grader
