#include "grader/checks/behaviour_check.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/findings/diagnosis.hpp"
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

// Whole numbers for one seed; right for one of several inputs?
bool output_belongs_to(const ConvShape& shape, const Arrays& arrays, std::uint64_t seed) {
  std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
  std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
  fill_random(shape, true, seed, {input.data(), weights.data(), nullptr});
  return oracle::compare(shape, input.data(), arrays.weights, arrays.output,
                         oracle::Tolerance::exact())
      .passed(shape);
}

// Some that are quick and have several blocks, images and channels.
std::vector<ElementCase> quick_cases() {
  std::vector<ElementCase> quick;
  constexpr std::int64_t kFew = 400'000;
  for (const ElementCase& test : element_cases()) {
    const bool has_parts = test.shape.batch > 1 && test.shape.in_channels > 1;
    if (has_parts && test.shape.multiply_adds() < kFew) quick.push_back(test);
  }
  return quick;
}

std::optional<Finding> first_finding(Submission& submission, const StageInfo& stage,
                                     const std::vector<ElementCase>& cases, std::uint64_t seed) {
  for (const ElementCase& test : cases) {
    CaseOutcome outcome = run_case(submission, stage, test, ++seed);
    if (outcome.finding) return outcome.finding;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check_hidden_shapes(Submission& submission, const StageInfo& stage,
                                           std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  constexpr int kShapes = 6;
  for (int i = 0; i < kShapes; ++i) {
    const ElementCase hidden{"hidden " + std::to_string(i + 1), drawn_shape(engine), i % 2 == 0};
    const CaseOutcome outcome = run_case(submission, stage, hidden, engine());
    if (!outcome.finding) continue;
    // What is not about numbers keeps its own name.
    if (outcome.result.error.compared == 0) return outcome.finding;
    return finding("E-shapes", outcome.finding->seen);
  }
  std::vector<ElementCase> known = quick_cases();
  std::shuffle(known.begin(), known.end(), engine);
  const std::optional<Finding> again = first_finding(submission, stage, known, engine());
  if (again) return finding("E-replay", "When it was asked again: " + again->seen);
  return std::nullopt;
}

std::optional<Finding> check_phases(Submission& submission, const StageInfo& stage,
                                    std::uint64_t seed) {
  const ConvShape shape{.batch = 3,
                        .out_channels = 5,
                        .in_channels = 4,
                        .height = 19,
                        .width = 17,
                        .kernel = 3,
                        .stride = 1};
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  fill_random(shape, true, seed, arrays);
  std::vector<float> unused(static_cast<std::size_t>(shape.weights_size()));
  int pauses = 0;
  // On a GPU the profiler sees only what a process allocates from its first profile on, and what
  // ran under a profiler is timed no more.
  const bool on_gpu = submission.device().device == Device::kGpu;
  if (on_gpu) submission.restart();
  const Call call = submission.run_phases(stage.id, [&] {
    ++pauses;
    fill_random(shape, true, seed + static_cast<std::uint64_t>(pauses),
                {arrays.input, unused.data(), nullptr});
  });
  const std::string where = "three phases with three inputs (" + to_string(shape) + ")";
  if (on_gpu) submission.restart();
  if (call.failure) return explain(*call.failure, where);
  const PhaseKernels& kernels = call.kernels;
  if (kernels.prolog == 0 && kernels.convolve == 0 && kernels.epilog == 0) {
    return finding("E-no-kernel", "In " + where + ": no phase launches a kernel.");
  }
  if (kernels.convolve == 0) {
    return finding("E-timed-phase-empty",
                   "In " + where + ": prolog launches " + std::to_string(kernels.prolog) +
                       " kernels, convolve none, epilog " + std::to_string(kernels.epilog) + ".");
  }
  if (output_belongs_to(shape, arrays, seed + 1)) return std::nullopt;
  const bool on_device = submission.device().device != Device::kCpu;
  if (output_belongs_to(shape, arrays, seed)) {
    if (on_device && kernels.finished) {
      return finding("E-timed-phase-empty",
                     "In " + where + ": device memory held the output when prolog returned.");
    }
    // A device's memory is its own: the grader may not have found the copy of the input there.
    if (on_device && kernels.copies == 0) return std::nullopt;
    return finding("E-timed-phase-empty", "In " + where +
                                              ": the output belongs to the input that only prolog "
                                              "could see.");
  }
  if (output_belongs_to(shape, arrays, seed + 2)) {
    return finding("E-timed-phase-empty", "In " + where +
                                              ": the output belongs to the input that only epilog "
                                              "could see.");
  }
  return finding(
      "E-timed-phase-empty",
      "In " + where + ": the output belongs to none of them; two phases share the work.");
}

std::optional<Finding> check_stillness(Submission& submission, const StageInfo& stage,
                                       std::uint64_t seed) {
  const std::vector<ElementCase> cases = quick_cases();
  if (const auto found = first_finding(submission, stage, {cases.back()}, seed)) {
    return finding("E-replay", "When it was asked again: " + found->seen);
  }
  submission.thaw();
  // Threads of OpenMP look out for work for some milliseconds before they sleep.
  constexpr milliseconds kSettle{60};
  constexpr milliseconds kLook{150};
  constexpr milliseconds kMuch{10};
  std::this_thread::sleep_for(kSettle);
  milliseconds worked{0};
  for (int look = 0; look < 2; ++look) {
    const auto before = submission.computing_time();
    std::this_thread::sleep_for(kLook);
    worked = std::chrono::duration_cast<milliseconds>(submission.computing_time() - before);
    if (before.count() < 0 || worked < kMuch) return std::nullopt;
  }
  return finding("E-still-working", "Nothing was asked for 150 ms, and it computed for " +
                                        std::to_string(worked.count()) + " ms.");
}

namespace {

// With lazy streams, work that nobody waits for is still there when convolve returns.
std::optional<Finding> check_joined(Submission& submission, const StageInfo& stage,
                                    std::uint64_t seed) {
  const ConvShape shape = quick_cases().front().shape;
  fill_random(shape, true, seed, submission.prepare(shape, Placement::kAligned));
  const Call call = submission.run_phases(stage.id, [] {});
  if (call.failure || !call.kernels.unjoined) return std::nullopt;
  return finding("E-side-stream",
                 "In a convolution of " + to_string(shape) +
                     ": when convolve has returned and the default stream is done, a stream that "
                     "does not wait for it still has work.");
}

}  // namespace

std::optional<Finding> check_order(Submission& submission, const StageInfo& stage,
                                   std::uint64_t seed) {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  const std::string shuffle = "CONVLAB_EMU_ORDER=shuffle:" + std::to_string(seed % 1'000'000);
  struct Variant {
    std::vector<std::string> environment;
    const char* id;
    const char* what;
  };
  const Variant variants[] = {
      {{"CONVLAB_EMU_ORDER=reverse"},
       "E-race",
       "with threads, warps and blocks in reverse order: "},
      {{shuffle}, "E-race", "with threads, warps and blocks in a shuffled order: "},
      {{"CONVLAB_EMU_STREAMS=lazy"},
       "E-unsynchronised",
       "with work that begins only when somebody waits for it: "},
  };
  const ConvShape shape = quick_cases().front().shape;
  fill_random(shape, true, seed, submission.prepare(shape, Placement::kAligned));
  const DeviceNotes notes = submission.run(stage.id).notes;
  std::optional<Finding> found;
  for (const Variant& variant : variants) {
    submission.set_environment(variant.environment);
    if (variant.environment.front().find("lazy") != std::string::npos) {
      found = check_joined(submission, stage, seed);
      if (found) break;
    }
    if (const auto wrong = first_finding(submission, stage, quick_cases(), seed)) {
      found = finding(variant.id,
                      std::string("Right in the usual order; ") + variant.what + wrong->seen);
      if (found->id == "E-race") found->seen += barrier_lines(notes, submission.sources());
      break;
    }
  }
  submission.set_environment({});
  return found;
}

std::optional<Finding> check_behaviour(Submission& submission, const StageInfo& stage,
                                       std::uint64_t seed,
                                       const std::function<void(const std::string&)>& announce) {
  announce("shapes that nobody announced");
  if (auto found = check_hidden_shapes(submission, stage, seed)) return found;
  announce("which phase computes");
  if (auto found = check_phases(submission, stage, seed)) return found;
  announce("what goes on after the convolution");
  if (auto found = check_stillness(submission, stage, seed)) return found;
  announce("threads and streams in another order");
  if (auto found = check_order(submission, stage, seed)) return found;
  return check_leaks(submission, stage, quick_cases().front().shape, seed);
}

}  // namespace convlab::grader
