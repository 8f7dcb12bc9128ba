#include "grader/checks/probe/probe.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "grader/checks/probe/facts.hpp"
#include "grader/checks/probe/shapes.hpp"

namespace convlab::grader::probe {

namespace {

/// A stage in its own process.
class StageProgram : public Program {
 public:
  StageProgram(Submission& submission, const StageInfo& stage, int most_faults,
               std::vector<std::string> settings = {})
      : Program(most_faults), submission_(submission), stage_(stage) {
    settings.emplace_back("CONVLAB_EMU_THREADS=1");
    submission.watch(false);
    submission.set_environment(std::move(settings));
  }
  ~StageProgram() override {
    submission_.watch(true);
    submission_.set_environment({});
  }

 private:
  Answer convolve(const ConvShape& shape, const Numbers& input, const Numbers& weights) override {
    const Arrays arrays = submission_.prepare(shape, Placement::kAligned);
    std::ranges::copy(input.with_margins(), arrays.input - Numbers::kMargin);
    std::ranges::copy(weights.with_margins(), arrays.weights - Numbers::kMargin);
    const Call call = submission_.run(stage_.id);
    constexpr int kLookEvery = 8;
    if (runs() % kLookEvery == 0) look_at_clock();
    if (call.failure) {
      const bool hangs = call.failure->kind == Failure::Kind::kTimeout;
      return {hangs ? Answer::Kind::kTimeout : Answer::Kind::kFault};
    }
    return {.output = {arrays.output, arrays.output + shape.output_size()}};
  }

  // A new process begins at zero.
  void look_at_clock() {
    const double now = std::chrono::duration<double>(submission_.computing_time()).count();
    add_computing(now < last_s_ ? std::max(0.0, now) : now - last_s_);
    last_s_ = now;
  }

  Submission& submission_;
  const StageInfo& stage_;
  double last_s_ = 0.0;
};

// Each costs a new process.
constexpr int kFaults = 8;
constexpr int kFaultsOfShapes = 40;

// Sizes that differ from each other and between the shapes, so that two of them tell names apart.
// B, M, C, H, W, K, S
const std::vector<ConvShape>& probe_shapes() {
  static const std::vector<ConvShape> shapes = {{4, 2, 3, 8, 6, 2, 2},   {3, 5, 2, 7, 9, 3, 1},
                                                {2, 6, 4, 10, 13, 2, 3}, {1, 2, 1, 20, 37, 3, 1},
                                                {1, 3, 2, 19, 22, 2, 1}, {2, 18, 3, 5, 4, 3, 1}};
  return shapes;
}

}  // namespace

std::optional<Fact> measure_mistake(Submission& submission, const StageInfo& stage,
                                    const ConvShape& failing, bool any_shape) {
  StageProgram program(submission, stage, kFaults);
  const bool few_bits = stage.precision != Precision::kFp32;
  if (any_shape) return find_fact(program, probe_shapes(), few_bits);
  // Files that promise only the layers of a network may have their sizes as constants.
  ConvShape must = failing;
  must.batch = std::min(must.batch, 3);
  constexpr std::int64_t kMostWeights = 300;
  constexpr std::int64_t kMostWork = 50'000'000;
  if (must.weights_size() > kMostWeights || must.multiply_adds() > kMostWork) return std::nullopt;
  ConvShape wide = must;
  wide.batch = 2, wide.height = wide.kernel + 4, wide.width = wide.kernel + 6;
  ConvShape high = must;
  high.batch = 3, high.height = high.kernel + 7, high.width = high.kernel + 3;
  return find_fact(program, {wide, high}, few_bits, must);
}

std::optional<Fact> measure_index(Submission& submission, const StageInfo& stage) {
  // An emulated device then clears megabytes for each allocation, so there are only two shapes.
  StageProgram program(submission, stage, kFaults, {"CONVLAB_EMU_READS=forgiven:0"});
  const std::vector<ConvShape> two(probe_shapes().begin(), probe_shapes().begin() + 2);
  auto fact = find_fact(program, two, stage.precision != Precision::kFp32);
  return fact && fact->predicts ? fact : std::nullopt;
}

FailingShapes shapes_that_fail(Submission& submission, const StageInfo& stage,
                               const ConvShape& failing, bool is_shown) {
  StageProgram program(submission, stage, kFaultsOfShapes);
  const bool few_bits = stage.precision != Precision::kFp32;
  const auto study = study_shapes(program, failing, few_bits);
  if (!study) return {};
  const std::string option = "--case " + case_text(study->smallest);
  std::string text = study->smallest == failing && is_shown
                         ? "No smaller case fails; " + option + " runs this one alone."
                         : "The smallest case that fails: " + to_string(study->smallest) +
                               ". Check it alone with " + option + ".";
  if (!study->rule.empty()) {
    text += "\nIt fails exactly if " + study->rule + " (" + std::to_string(study->confirmed) +
            " more shapes confirm this).";
  }
  // No size of the smallest can be smaller.
  const bool needs_stride = study->smallest.stride > 1;
  if (needs_stride) text += "\nWith a stride of 1 this case is right.";
  return {.lines = text, .needs_stride = needs_stride};
}

}  // namespace convlab::grader::probe
