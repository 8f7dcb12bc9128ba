#include "grader/checks/behaviour_check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "common/timing/three_digits.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "grader/checks/probe/probe.hpp"
#include "grader/checks/source_clues.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

using std::chrono::milliseconds;

int draw(std::mt19937_64& engine, int low, int high) {
  return low + static_cast<int>(engine() % static_cast<std::uint64_t>(high - low + 1));
}

ConvShape drawn_shape(std::mt19937_64& engine) {
  ConvShape shape;
  shape.kernel = draw(engine, 1, 7);
  shape.batch = draw(engine, 1, 6);
  shape.out_channels = draw(engine, 1, 20);
  shape.in_channels = draw(engine, 1, 6);
  shape.height = shape.kernel + draw(engine, 0, 40);
  shape.width = shape.kernel + draw(engine, 0, 40);
  shape.stride = draw(engine, 1, 3);
  return shape;
}

ElementCase whole_numbers(const ConvShape& shape) {
  return {.shape = shape, .exact = true};
}

// A race, too, shows in a later call only, and a thread that was left may crash there.
std::optional<Finding> repeated(const std::optional<Finding>& wrong) {
  if (!wrong || is_of_kind(*wrong, "race") || is_of_kind(*wrong, "crash")) return wrong;
  return finding("E-replay", "When the case was repeated: " + wrong->seen);
}

/// A shape at which a type no longer holds an index.
struct Limit {
  bool of_half;  ///< else of float; where the file has no line with that type, nothing is run
  ElementCase test;
  const char* name;  ///< of the finding
};

Seen lines_with_half(const SourceText& sources) {
  Seen lines;
  for (const char* word : {"_Float16", "__int2half_rn", "__half", "half"}) {
    for (const auto& place : sources.lines_with({word}, {"include"})) {
      constexpr std::size_t kEnough = 5;
      if (lines.places().size() < kEnough) lines += sources.quote(place.file, place.line);
    }
    if (!lines.empty()) break;
  }
  return lines;
}

/// Three arrays of the grader, and whether the submission's output is right for them.
class Probe {
 public:
  Probe(Submission& submission, const StageInfo& stage, const ConvShape& shape)
      : submission_(submission),
        stage_(stage),
        shape_(shape),
        arrays_(submission.prepare(shape, Placement::kAligned)),
        input_(static_cast<std::size_t>(shape.input_size())),
        weights_(static_cast<std::size_t>(shape.weights_size())) {
    FreshNumbers::draw().fill(weights_.data(), shape.weights_size());
    std::copy(weights_.begin(), weights_.end(), arrays_.weights);
    draw_input();
    give_input();
  }

  void draw_input() { FreshNumbers::draw().fill(input_.data(), shape_.input_size()); }
  void give_input() const { std::copy(input_.begin(), input_.end(), arrays_.input); }
  std::vector<float>& input() { return input_; }

  Call run() { return submission_.run(stage_.id); }

  /// prolog still sees the earlier input.
  Call run_timed() {
    return submission_.run_timed(stage_.id, [this] { give_input(); });
  }

  /// Whether these images are right; a few take less time.
  [[nodiscard]] bool is_right(std::int64_t first, int images) const {
    ConvShape part = shape_;
    part.batch = images;
    return oracle::compare(part, input_.data() + first * shape_.input_image_size(), weights_.data(),
                           arrays_.output + first * shape_.output_image_size(),
                           oracle::Tolerance::of(stage_.precision, part))
        .passed(part);
  }

 private:
  Submission& submission_;
  const StageInfo& stage_;
  ConvShape shape_;
  Arrays arrays_;
  std::vector<float> input_;
  std::vector<float> weights_;
};

}  // namespace

std::vector<ElementCase> drawn_cases(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<ElementCase> drawn;
  constexpr int kShapes = 6;
  for (int i = 0; i < kShapes; ++i) {
    drawn.push_back({"hidden " + std::to_string(i + 1), drawn_shape(engine), i % 2 == 0});
  }
  ConvShape& shape = drawn.front().shape;  // as many weights as any of them may have
  shape.out_channels = 20, shape.in_channels = 6, shape.kernel = 7;
  shape.height = std::max(shape.height, 7), shape.width = std::max(shape.width, 7);
  return drawn;
}

std::optional<Finding> Behaviour::hidden_shapes() {
  std::mt19937_64 engine(seed);
  for (const ElementCase& hidden : any_shape ? drawn_cases(seed) : std::vector<ElementCase>()) {
    const CaseOutcome outcome = run(hidden, engine());
    const auto& found = outcome.finding;
    if (!found) continue;
    // What does not concern numbers keeps its name; more products round more, so a class may end.
    if (outcome.result.error.compared == 0 || is_of_kind(*found, "of-calls")) return found;
    Finding told = finding("E-shapes", found->seen);
    if (!is_of_kind(*found, "general")) told.cause = found->cause + " " + told.cause;
    return told;
  }
  std::vector<ElementCase> known = plan.repeated;
  std::shuffle(known.begin(), known.end(), engine);
  if (any_shape) {
    // What a file keeps of its first call is now that of the largest filter, not of the smallest.
    submission.restart();
    known.insert(known.begin(), {"kernel 7 first", {1, 2, 1, 9, 8, 7, 1}, true});
  }
  return repeated(first_finding(submission, stage, known, engine()));
}

// Where something else is wrong, too, the cases before have told it.
std::optional<Finding> Behaviour::wrong_numbers(ElementCase test) {
  test.exact = true;
  test.largest = 1;
  test.probe = ElementCase::Probe::kNone;
  const CaseOutcome outcome = run(test, seed);
  const bool is_outside = outcome.finding && is_of_kind(*outcome.finding, "neighbours");
  return is_outside || outcome.result.error.wrong > 0 ? outcome.finding : std::nullopt;
}

std::optional<Finding> Behaviour::narrow_index() {
  const Seen floats = float_index(submission.sources());
  const Seen halves = lines_with_half(submission.sources());
  static const std::vector<Limit> limits = {
      {false, {"17 million outputs", {17, 1, 1, 1024, 1024, 1, 1}}, "E-images/float"},
      // The stride as a factor, as a divisor, or as one over it.
      {false, {"2100 columns", {1, 1, 1, 3, 2100, 1, 3}}, "E-index/float"},
      {false, {"2100 columns", {1, 1, 1, 3, 2100, 1, 7}}, "E-index/float"},
      {false, {"2100 rows", {1, 1, 1, 2100, 3, 1, 3}}, "E-index/float"},
      {false, {"2100 rows", {1, 1, 1, 2100, 3, 1, 7}}, "E-index/float"},
      {true, {"2107 taps", {1, 1, 43, 8, 9, 7, 1}}, "E-index/half"}};
  for (const auto& [of_half, test, name] : limits) {
    const Seen& lines = of_half ? halves : floats;
    if (lines.empty()) continue;
    const auto wrong = wrong_numbers(test);
    if (!wrong) continue;
    // Just below the limit it must be right.
    const ElementCase below{"below", of_half ? ConvShape{1, 1, 41, 8, 9, 7, 1} : ConvShape{}};
    if (!wrong_numbers(below)) return finding(name, wrong->seen + lines);
  }
  return std::nullopt;
}

std::optional<Finding> Behaviour::small_changes() {
  const ConvShape& shape = plan.phases;
  std::mt19937_64 engine(seed);
  Probe probe(submission, stage, shape);
  const auto change_one = [&] {
    const auto place = engine() % static_cast<std::uint64_t>(shape.input_size());
    probe.input()[static_cast<std::size_t>(place)] += 1.0f;
  };
  const std::string where = "convolutions of " + to_string(shape);
  if (const Call call = probe.run(); call.failure) return explain(*call.failure, where);
  constexpr int kTries = 3;
  for (int i = 0; i < 2 * kTries; ++i) {
    const bool in_phases = i >= kTries;
    change_one();
    if (!in_phases) probe.give_input();
    const Call call = in_phases ? probe.run_timed() : probe.run();
    if (call.failure) return explain(*call.failure, where);
    if (probe.is_right(0, shape.batch)) continue;
    if (!in_phases) return finding("E-replay/one-number", "In two " + where);
    const bool on_device = submission.device().device != Device::kCpu;
    if (on_device && call.copies <= 0) return std::nullopt;  // it has another form of the input
    return finding("E-timed-phase-empty/one-number", "In " + where);
  }
  return std::nullopt;
}

std::optional<Finding> Behaviour::repeated_inputs() {
  const ConvShape& shape = plan.seen_again;
  std::mt19937_64 engine(seed);
  Probe probe(submission, stage, shape);
  const std::string where = "convolutions of " + to_string(shape);
  constexpr double kMeasurable = 2.0;  // ms
  constexpr double kMuchFaster = 4.0;
  // Processor time: on a busy machine all calls take long. Threads that wait for each other use
  // some of it, too, sometimes ten times as much as the work. So the least of many calls counts.
  double fresh_ms = HUGE_VAL;
  std::optional<Finding> failed;
  const auto measure = [&](double& least_ms) {
    const Call call = probe.run_timed();
    if (call.failure) {
      failed = explain(*call.failure, where);
    } else if (!probe.is_right(draw(engine, 0, shape.batch - 1), 1)) {
      // A submission that computes nothing here would be fast on all inputs.
      const auto wrong = run({"once more", shape}, seed).finding;
      failed = wrong && is_of_kind(*wrong, "race") ? wrong
                                                   : finding("E-replay/known-input", "In " + where);
    }
    least_ms = std::min(least_ms, call.processor_ms);
  };
  // The same numbers, doubled, negated, and with the images in another order.
  constexpr float kReordered = 0.0F;
  for (const float factor : {1.0F, 2.0F, -0.5F, kReordered}) {
    double known_ms = HUGE_VAL;
    probe.draw_input();
    measure(fresh_ms);
    if (failed) return failed;
    if (fresh_ms < kMeasurable) return std::nullopt;
    std::vector<float>& input = probe.input();
    if (factor == kReordered) {
      std::rotate(input.begin(), input.begin() + shape.input_image_size(), input.end());
    } else {
      for (float& number : input) number *= factor;
    }
    measure(known_ms);
    constexpr int kMoreCalls = 25;
    for (int i = 0; i < kMoreCalls && !failed && kMuchFaster * known_ms < fresh_ms; ++i) {
      probe.draw_input();
      measure(fresh_ms);
    }
    if (failed) return failed;
    if (fresh_ms < kMeasurable) return std::nullopt;
    if (kMuchFaster * known_ms < fresh_ms) {
      return finding("E-replay/faster", "In " + where,
                     {three_digits(known_ms), three_digits(fresh_ms)});
    }
  }
  return std::nullopt;
}

std::optional<Finding> Behaviour::stillness() {
  auto wrong = repeated(first_finding(submission, stage, {plan.repeated.back()}, seed));
  return wrong ? wrong : find_idle_work(submission);
}

std::optional<Finding> find_idle_work(Submission& submission) {
  submission.thaw();
  // Threads of OpenMP look out for work for some milliseconds before they sleep.
  constexpr milliseconds kSettle{60};
  constexpr milliseconds kLook{50};
  constexpr milliseconds kMuch{10};
  constexpr milliseconds kMuchOfLook{3};
  constexpr int kMostLooks = 100;  // on a busy machine a busy thread rarely gets a processor
  std::this_thread::sleep_for(kSettle);
  ThreadUse before = submission.threads();
  const auto settled = before.computed;
  if (settled.count() < 0) return std::nullopt;
  for (int look = 1; look <= kMostLooks; ++look) {
    std::this_thread::sleep_for(kLook);
    const ThreadUse now = submission.threads();
    const auto wanted = now.computed - before.computed + now.waited - before.waited;
    if (wanted < kMuchOfLook && !now.is_busy()) return std::nullopt;
    before = now;
    if (look > 1 && now.computed - settled >= 2 * kMuch) break;
  }
  const auto worked = std::chrono::duration_cast<milliseconds>(before.computed - settled);
  if (worked < kMuch) return std::nullopt;
  return finding("E-still-working/idle", "", {std::to_string(worked.count())});
}

std::optional<Finding> Behaviour::second_convolve() {
  submission.set(&Submission::Settings::convolve_calls, 2);
  const auto wrong = first_finding(submission, stage, {plan.repeated.back()}, seed);
  submission.set(&Submission::Settings::convolve_calls, 1);
  if (!wrong || is_of_kind(*wrong, "sandbox")) return std::nullopt;
  Finding found = finding("E-replay/second-convolve", "");
  found.seen += " " + wrong->seen;
  return found;
}

std::optional<Finding> Behaviour::little_memory() {
  // 11 unrolled images of 113 kB need more than there is, and half of what the arrays leave has
  // room for 4: two whole slices and a shorter one.
  const ElementCase test{"little memory", {11, 3, 1, 30, 30, 7, 1}, true};
  submission.set_environment({"CONVLAB_EMU_MEMORY=1"});
  const CaseOutcome little = run(test, seed);
  submission.set_environment({});
  // Not every stage works in slices.
  if (!little.finding || is_of_kind(*little.finding, "out-of-memory")) return std::nullopt;
  submission.restart();
  if (const CaseOutcome usual = run(test, seed); usual.finding) {
    return usual.finding;
  }
  Finding found = finding("E-slices/little-memory", "");
  found.seen += " " + little.finding->seen;
  if (const auto fact = probe::wrong_slices({submission, stage, test.shape})) {
    found.seen += "\n" + fact->seen;
    found.cause = fact->cause;
  }
  return found;
}

std::optional<Finding> Behaviour::other_orders() {
  const auto told = [&](const char* id, const std::string& how) -> std::optional<Finding> {
    const auto wrong = first_finding(submission, stage, plan.repeated, seed, &wrong_cases);
    // A refusal by the sandbox does not depend on the order.
    if (!wrong || is_of_kind(*wrong, "sandbox")) return wrong;
    return finding(id, "Right in the usual order. " + how + wrong->seen);
  };
  submission.set_environment({"CONVLAB_EMU_ORDER=reverse"});
  auto found = told("E-race", "With threads, warps and blocks in reverse order: ");
  if (!found) {
    // Unjoined work is still pending when convolve returns.
    submission.set_environment({"CONVLAB_EMU_STREAMS=lazy"});
    const ConvShape& shape = plan.repeated.front().shape;
    fill_random(whole_numbers(shape), seed, submission.prepare(shape, Placement::kAligned));
    const Call call = submission.run_phases(stage.id, [] {});
    if (!call.failure && call.kernels.unjoined) {
      found = finding("E-side-stream/pending", "In a convolution of " + to_string(shape));
    }
  }
  if (!found) {
    found = told("E-unsynchronised", "With work that begins only when the host waits for it: ");
  }
  submission.set_environment({});
  return found;
}

// What the kernels and copies of the phases show, whatever the output is; null for nothing.
static const char* of_kernels(const PhaseKernels& kernels, const ConvShape& shape) {
  if (kernels.prolog == 0 && kernels.convolve == 0 && kernels.epilog == 0) {
    return "E-no-kernel/no-phase";
  }
  if (kernels.convolve == 0) return "E-timed-phase-empty/no-kernel";
  // A copy of the device's own result reads back the output.
  constexpr auto kNumber = static_cast<std::int64_t>(sizeof(float));
  const bool reads_back = kernels.copies > 0 && kernels.read_back >= shape.input_size() * kNumber &&
                          kernels.read_back != shape.output_size() * kNumber;
  return reads_back ? "E-no-kernel/reads-back" : nullptr;
}

std::optional<Finding> Behaviour::phases() {
  const ConvShape& shape = plan.phases;
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  fill_random(whole_numbers(shape), seed, arrays);
  std::vector<float> unused(static_cast<std::size_t>(shape.weights_size()));
  // For which of the inputs is the output right?
  std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
  const auto belongs_to = [&](int pause) {
    fill_random(whole_numbers(shape), seed + static_cast<std::uint64_t>(pause),
                {input.data(), unused.data(), nullptr});
    return oracle::compare(shape, input.data(), arrays.weights, arrays.output,
                           oracle::Tolerance::of(stage.precision, shape))
        .passed(shape);
  };
  int pauses = 0;
  // A GPU's profiler sees allocations after its first profile only, and ends the timing.
  const bool on_gpu = submission.device().device == Device::kGpu;
  if (on_gpu) submission.restart();
  const Call call = submission.run_phases(stage.id, [&] {
    ++pauses;
    fill_random(whole_numbers(shape), seed + static_cast<std::uint64_t>(pauses),
                {arrays.input, unused.data(), nullptr});
  });
  const std::string where =
      "a convolution with another input in each phase (" + to_string(shape) + ")";
  // On other devices the change in the device's memory may have caused a lasting fault.
  const PhaseKernels& kernels = call.kernels;
  const bool is_changed = submission.device().device == Device::kEmulated && kernels.copies == 0;
  if (on_gpu || is_changed) submission.restart();
  if (call.failure) return explain(*call.failure, where);
  const auto told = [&](const char* name) {
    return finding(name, "In " + where + ": ",
                   {std::to_string(kernels.prolog), std::to_string(kernels.epilog),
                    std::to_string(kernels.read_back)});
  };
  if (const char* const name = of_kernels(kernels, shape)) return told(name);
  const bool on_device = submission.device().device != Device::kCpu;
  if (belongs_to(1)) return std::nullopt;
  // Between the phases the device holds one input and the host another.
  if (on_device && pauses == 3 && belongs_to(2)) {
    if (kernels.copied_in) return std::nullopt;
    return told("E-no-kernel/only-copies");
  }
  if (belongs_to(0)) {
    if (on_device && kernels.finished) return told("E-timed-phase-empty/done-in-prolog");
    if (kernels.computed >= 0.0 && !kernels.computes_all())
      return told("E-timed-phase-empty/only-moves");
    if (kernels.computes_all() && (kernels.prolog > 0 || kernels.copies > 0)) {
      return told("E-converted/by-prolog");
    }
    // A device's memory is its own: the grader may not have found the copy of the input there.
    // Only an emulated device tells this from a conversion.
    if (on_device && kernels.copies == 0) {
      // Of both arrays one is always withheld, unless it was seen that the host rounds both.
      if (!on_gpu && submission.withheld() != Withheld::kNothing) return std::nullopt;
      return told("E-converted/open");
    }
    return told("E-timed-phase-empty/prolog");
  }
  return told(belongs_to(pauses) ? "E-timed-phase-empty/epilog" : "E-timed-phase-empty/shared");
}

std::optional<Finding> Behaviour::on_emulated() {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  auto found = any_shape ? second_convolve() : std::nullopt;
  if (!found && any_shape) found = little_memory();
  return found ? found : other_orders();
}

}  // namespace convlab::grader
