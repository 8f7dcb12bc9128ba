#include "grader/timing/side_by_side.hpp"

#include <cstring>

#include "common/device/device_limits.hpp"
#include "common/device/physical_floor.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/submission/submission.hpp"
#include "grader/timing/speed.hpp"

namespace convlab::grader {

namespace {

/// The reference's side: its times, and why there are none.
class ReferenceTimes {
 public:
  ReferenceTimes(const std::filesystem::path& program, std::string stage)
      : submission_(program), stage_(std::move(stage)) {}

  void call(std::size_t layer, const ConvShape& shape, const Arrays& given) {
    if (problem_) return;
    const bool is_new = layer >= op_ms_.size();
    if (is_new) op_ms_.resize(layer + 1);
    const Arrays arrays = submission_.prepare(shape, Placement::kAligned);
    const auto copy = [](float* to, const float* from, std::int64_t count) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    };
    copy(arrays.input, given.input, shape.input_size());
    copy(arrays.weights, given.weights, shape.weights_size());
    // The submission's first call of a layer is no sample, nor is this one's.
    if (is_new) run();
    if (const std::optional<double> op_ms = run()) op_ms_[layer].push_back(*op_ms);
  }

  [[nodiscard]] const std::vector<std::vector<double>>& op_ms() const { return op_ms_; }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

 private:
  std::optional<double> run() {
    const Call call = submission_.run(stage_);
    // An emulated reference beside a submission on a GPU has no time to compare with.
    if (!call.failure && submission_.device().device != Device::kEmulated) return call.op_ms;
    problem_ = "the reference does not run here";
    return std::nullopt;
  }

  Submission submission_;
  std::string stage_;
  std::vector<std::vector<double>> op_ms_;
  std::optional<std::string> problem_;
};

// The floor of all convolutions together, where the device's limits are known.
std::optional<double> floor_of(const Result& result) {
  const DeviceLimits limits = with_measured(result.machine.promised, result.machine.measured);
  const RunResult& run = result.runs.front();
  double sum = 0.0;
  for (const LayerResult& layer : run.layers) {
    const double floor = physical_floor(layer.shape, limits, precision_of(run.stage)).ms();
    if (floor <= 0.0) return std::nullopt;
    sum += floor;
  }
  return sum;
}

void append(std::vector<std::vector<double>>& all, std::size_t layer,
            const std::vector<double>& samples) {
  if (layer >= all.size()) all.resize(layer + 1);
  all[layer].insert(all[layer].end(), samples.begin(), samples.end());
}

}  // namespace

SpeedOutcome measure_speed(const CheckRequest& request, const ScoreRule& rule,
                           const ScoreRules& rules, const std::filesystem::path& reference,
                           const Announce& announce) {
  SpeedOutcome outcome{
      .stage = rule.stage, .batch = rule.batch, .measure = {}, .findings = {}, .why_not = {}};
  SpeedMeasure measure{.reference = rule.reference};
  while (measure.rounds < rules.rounds) {
    ++measure.rounds;
    const std::string round = measure.rounds == 1
                                  ? ""
                                  : ", noise decides: round " + std::to_string(measure.rounds) +
                                        " of " + std::to_string(rules.rounds);
    ReferenceTimes times(reference, rule.reference);
    CheckRequest once = request;
    once.stage = rule.stage;
    once.batches = {rule.batch};
    once.cases = false;
    once.beside = [&](const StageInfo&, int, int layer, const ConvShape& shape,
                      const Arrays& given) {
      announce(rule.stage + ": in turns with the reference, convolution " +
               std::to_string(layer + 1) + round);
      times.call(static_cast<std::size_t>(layer), shape, given);
    };
    const CheckObserver silent{.announce = announce,
                               .cases_passed = [](const StageInfo&, std::size_t) {},
                               .run_ended = [](const RunResult&) {},
                               .found = [](const StageInfo&, const Finding&) {}};
    const Result result = check(once, silent);
    outcome.findings = result.findings;
    if (!result.findings.empty()) return outcome;
    if (times.problem()) {
      outcome.why_not = *times.problem();
      return outcome;
    }
    measure.floor_ms = floor_of(result);
    const std::vector<LayerResult>& layers = result.runs.front().layers;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      append(measure.yours_ms, layer, layers[layer].op_ms);
      append(measure.reference_ms, layer, times.op_ms().at(layer));
    }
    estimate_speed(measure);
    if (points_for(measure, rule, rules.tolerance).decided) break;
  }
  outcome.measure = std::move(measure);
  return outcome;
}

}  // namespace convlab::grader
