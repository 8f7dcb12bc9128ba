#include "grader/checks/probe/probe.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "common/base/text.hpp"
#include "grader/checks/probe/finders.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader::probe {

namespace {

// Each costs a new process.
constexpr int kFaults = 8;
constexpr int kFaultsOfShapes = 40;

/// A stage in its own process.
class StageProgram : public Program {
 public:
  explicit StageProgram(const WrongStage& wrong, std::vector<std::string> settings = {},
                        int most_faults = kFaults)
      : Program(most_faults, wrong.stage.precision != Precision::kFp32),
        submission_(wrong.submission),
        stage_(wrong.stage) {
    settings.emplace_back("CONVLAB_EMU_THREADS=1");
    submission_.set(&Submission::Settings::watches, false);
    submission_.set_environment(std::move(settings));
  }
  ~StageProgram() override {
    submission_.set(&Submission::Settings::watches, true);
    submission_.set_environment({});
  }

  void restart() override { submission_.restart(); }
  /// What is NaN was never written.
  void mark_nan() { marks_nan_ = true; }

 private:
  Answer convolve(const ConvShape& shape, const Numbers& input, const Numbers& weights) override {
    const Arrays arrays = submission_.prepare(shape, Placement::kAligned);
    std::ranges::copy(input.with_margins(), arrays.input - Numbers::kMargin);
    std::ranges::copy(weights.with_margins(), arrays.weights - Numbers::kMargin);
    const Call call = submission_.run(stage_.id);
    constexpr int kLookEvery = 8;
    if (runs() % kLookEvery == 0) look_at_clock();
    if (call.failure) {
      // It has ended, so nobody can ask for its processor time. A fault takes a moment unless the
      // program waits for something first.
      constexpr double kMomentMs = 2000.0;
      constexpr double kMilli = 1e-3;
      if (call.round_trip_ms > kMomentMs) add_computing(kMilli * call.round_trip_ms);
      const bool hangs = call.failure->kind == Failure::Kind::kTimeout;
      return {hangs ? Answer::Kind::kTimeout : Answer::Kind::kFault};
    }
    Answer answer{.output = {arrays.output, arrays.output + shape.output_size()}};
    if (marks_nan_) {
      std::ranges::replace_if(
          answer.output, [](float each) { return std::isnan(each); },
          std::bit_cast<float>(oracle::kPoisonBits));
    }
    return answer;
  }

  // A new process begins at zero.
  void look_at_clock() {
    const double now = std::chrono::duration<double>(submission_.threads().computed).count();
    add_computing(now < last_s_ ? std::max(0.0, now) : now - last_s_);
    last_s_ = now;
  }

  Submission& submission_;
  const StageInfo& stage_;
  double last_s_ = 0.0;
  bool marks_nan_ = false;
};

// Sizes that differ from each other and between the shapes, so that two of them tell names apart.
// The last two have more products than two slices of a warp. B, M, C, H, W, K, S
const std::vector<ConvShape> kProbeShapes = {{4, 2, 3, 8, 6, 2, 2},   {3, 5, 2, 7, 9, 3, 1},
                                             {2, 6, 4, 10, 13, 2, 3}, {1, 2, 1, 20, 52, 3, 1},
                                             {1, 3, 2, 27, 28, 2, 1}, {2, 18, 3, 5, 4, 3, 1},
                                             {1, 2, 9, 5, 4, 3, 1},   {2, 1, 21, 3, 5, 2, 1}};

constexpr std::int64_t kMostToRepeat = 5'000'000;  // of a failing shape that is measured, too

// A layer that a file promises, with few images; nothing if it is large.
std::optional<ConvShape> promised(const ConvShape& failing) {
  ConvShape must = failing;
  must.batch = std::min(must.batch, 3);
  constexpr std::int64_t kMostWeights = 300;
  constexpr std::int64_t kMostWork = 50'000'000;
  if (must.weights_size() > kMostWeights || must.multiply_adds() > kMostWork) return std::nullopt;
  return must;
}

}  // namespace

std::optional<Explanation> rounding_of(const WrongStage& wrong, bool is_infinite) {
  StageProgram program(wrong);
  const bool any_shape = wrong.any_shape;
  auto must = promised(wrong.failing);
  if (!any_shape && (!must || must->taps() < 3)) return std::nullopt;
  if (must) must->batch = 1;
  const ConvShape shape = any_shape ? ConvShape{1, 2, 2, 5, 6, 2, 1} : *must;
  if (is_infinite) {
    if (auto overflow = find_overflow(program, shape)) return overflow;
  }
  auto shapes = any_shape ? kProbeShapes : std::vector<ConvShape>{shape};
  if (any_shape && wrong.failing.multiply_adds() <= kMostToRepeat) shapes.push_back(wrong.failing);
  if (!only_rounds(program, shapes)) return std::nullopt;
  return measure_rounding(program, shape, program.few_bits);
}

bool is_transform(const WrongStage& wrong) {
  StageProgram program(wrong);
  constexpr float kLarge = 1.2345678F;
  constexpr double kSmall = 1e-5;
  bool mixes = false;
  // At some shapes what is mixed comes out as 0 again.
  for (ConvShape shape : {wrong.failing, ConvShape{1, 1, 1, 13, 11, 3, 1}}) {
    shape.batch = 1;
    // All but the last pixel are 0, and most windows do not hold it.
    Numbers input(shape.input_size());
    const Numbers weights(shape.weights_size(), 1.0F / 3.0F);
    input[shape.input_size() - 1] = kLarge;
    const std::vector<double> right = right_sums(shape, input, weights);
    const Answer answer = program.run(shape, input, weights);
    for (std::size_t i = 0; i < answer.output.size(); ++i) {
      const double error = std::abs(static_cast<double>(answer.output[i]) - right[i]);
      if (!(error < kSmall)) return false;
      mixes = mixes || (right[i] == 0.0 && error > 0.0);
    }
    if (mixes) return true;
  }
  return false;
}

Precision precision_shown(Submission& submission, const StageInfo& stage,
                          const std::vector<ConvShape>& shapes) {
  // Also of a file whose host code converts the numbers.
  const Withheld before = submission.withheld();
  submission.set(&Submission::Settings::withheld, Withheld::kNothing);
  Precision loosest = Precision::kFp32;
  for (ConvShape shape : shapes) {
    StageProgram program({submission, stage});
    // One image is quick. But some files divide the batch by the number of their streams.
    const int images = std::exchange(shape.batch, 1);
    auto shown = precision_of(program, shape);
    shape.batch = std::min(images, 10);
    if (!shown) shown = precision_of(program, shape);
    const auto bound = [&](Precision each) { return oracle::error_bound(each, shape.taps()); };
    if (shown && bound(*shown) > bound(loosest)) loosest = *shown;
  }
  submission.set(&Submission::Settings::withheld, before);
  return loosest;
}

Finding with_rounding(Finding found, const Explanation& rounding) {
  found.seen += "\n" + rounding.seen;
  found.cause = rounding.cause;
  found.is_proved = rounding.is_named;
  return found;
}

std::optional<Explanation> measure_mistake(const WrongStage& wrong, bool one_row,
                                           bool nan_is_unwritten) {
  StageProgram program(wrong);
  const ConvShape& failing = wrong.failing;
  if (one_row) return find_in_row(program, failing);
  if (nan_is_unwritten) program.mark_nan();
  if (wrong.any_shape) {
    constexpr std::int64_t kQuick = 200'000;  // also of kernels with a warp for each output
    const bool is_small = failing.multiply_adds() <= kQuick;
    const auto must = is_small ? std::optional(failing) : std::nullopt;
    if (auto fact = find_fact(program, kProbeShapes, must)) return fact;
    if (auto fact = find_in_large(program, failing)) return fact;
    // It may need a larger filter or more channels than the shapes of the probe have.
    StageProgram again(wrong);
    if (nan_is_unwritten) again.mark_nan();
    auto wide = smallest_failing(again, failing);
    if (!wide) return std::nullopt;
    wide->height += 2 * wide->stride, wide->width += 3 * wide->stride;
    return find_fact(again, {*wide}, must);
  }
  const auto found = promised(failing);
  ConvShape must = found.value_or(failing);
  must.batch = std::min(must.batch, 3);
  if (!found) return find_in_large(program, must);
  ConvShape wide = must;
  wide.batch = 2, wide.height = wide.kernel + 4, wide.width = wide.kernel + 6;
  ConvShape high = must;
  high.batch = 3, high.height = high.kernel + 7, high.width = high.kernel + 3;
  return find_fact(program, {wide, high}, must, false);
}

std::optional<Explanation> kept_state(const WrongStage& wrong) {
  auto shape =
      wrong.any_shape ? std::optional(ConvShape{2, 2, 2, 5, 6, 2, 1}) : promised(wrong.failing);
  if (!shape) return std::nullopt;
  shape->batch = std::min(shape->batch, 2);
  StageProgram program(wrong);
  return find_kept(program, *shape);
}

std::optional<Explanation> wrong_slices(const WrongStage& wrong) {
  StageProgram program(wrong, {"CONVLAB_EMU_MEMORY=1"});
  const DenseRun run = run_dense(program, wrong.failing);
  if (!run.has_numbers()) return std::nullopt;
  return find_moved_images(run);
}

std::optional<Explanation> measure_index(const WrongStage& wrong) {
  // An emulated device then clears megabytes for each allocation, so there are few shapes.
  StageProgram program(wrong, {"CONVLAB_EMU_READS=forgiven:0"});
  const std::vector<ConvShape> shapes(kProbeShapes.begin(), kProbeShapes.begin() + 3);
  if (auto fact = find_fact(program, shapes)) return fact->predicts ? fact : std::nullopt;
  // Zeros beside the arrays hide that they are added.
  StageProgram other(wrong, {"CONVLAB_EMU_READS=forgiven:61"});
  for (const ConvShape& shape : shapes) {
    DenseRun run = run_dense(other, shape);
    for (Numbers* array : {&run.input, &run.weights}) {
      for (std::int64_t i = 0; i < Numbers::kMargin; ++i) {
        (*array)[-1 - i] = (*array)[array->size() + i] = 1.0F;
      }
    }
    run.answer = other.run(shape, run.input, run.weights);
    if (!run.is_right()) return std::nullopt;
  }
  std::vector<ConvShape> failing;
  wrong.submission.set_environment({});
  for (const ConvShape& shape : shapes) {
    const Arrays arrays = wrong.submission.prepare(shape, Placement::kAtEnd);
    std::fill_n(arrays.input, shape.input_size(), 1.0F);
    std::fill_n(arrays.weights, shape.weights_size(), 1.0F);
    if (wrong.submission.run(wrong.stage.id).failure) failing.push_back(shape);
  }
  if (failing.size() < 2) return std::nullopt;
  return told("E-outside/no-effect", {shapes_text(failing)});
}

std::optional<WrongProduct> add_failing_shapes(const WrongStage& wrong, Finding& finding) {
  StageProgram program(wrong, {}, kFaultsOfShapes);
  const auto study = study_shapes(program, wrong.failing);
  if (!study) return std::nullopt;
  finding.smallest = to_string(study->smallest);
  finding.smallest_shape = study->smallest;
  finding.may_shrink = study->may_shrink;
  finding.alone = "--case " + case_text(study->smallest);
  if (!study->rule.empty()) {
    finding.shapes = "Of " + count_of(study->tried, "shape") +
                     " that were tried it fails exactly if " + study->rule + ".";
  }
  if (study->needs_stride && is_of_kind(finding, "by-stride")) {
    const Finding named = said("E-stride/only");
    finding.id = named.id, finding.variant = named.variant, finding.values.clear();
    finding.title = named.title, finding.next = named.next;
  }
  if (study->smallest.stride > 1 && !study->may_shrink) {
    finding.shapes += finding.shapes.empty() ? "" : "\n";
    finding.shapes += "With a stride of 1 this case is right.";
  }
  for (const std::uint64_t seed : {1, 2, 3}) {  // a small shape may be right by luck
    const DenseRun run = run_dense(program, study->smallest, seed);
    if (!run.has_numbers()) break;
    if (!run.is_right()) return first_wrong(run);
  }
  return WrongProduct{.shape = study->smallest};
}

}  // namespace convlab::grader::probe
